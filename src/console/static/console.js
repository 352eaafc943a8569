/* global window */
/* What htmx does not do by itself: what a reader has opened stays open when a live page renews itself. */
(() => {
  'use strict';
  const { Idiomorph } = window;
  if (Idiomorph === undefined) return;
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => !(name === 'open' && node.nodeName === 'DETAILS');
  // A field that somebody is writing in is left alone.
  Idiomorph.defaults.ignoreActiveValue = true;
})();
