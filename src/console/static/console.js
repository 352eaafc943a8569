/* global window */
/* What htmx does not do by itself: what a reader has opened stays open when a live page renews itself; one tick for all rows. */
(() => {
  'use strict';
  const { Idiomorph, document } = window;
  document.addEventListener('change', ({ target }) => {
    if (!target.matches('[data-pick-all]')) return;
    for (const box of target.form.querySelectorAll('input[name="task"]')) box.checked = target.checked;
  });
  if (Idiomorph === undefined) return;
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => !(name === 'open' && node.nodeName === 'DETAILS');
  // A field that somebody is writing in is left alone.
  Idiomorph.defaults.ignoreActiveValue = true;
})();
