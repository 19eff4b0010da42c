// Wide tables scroll by keys, too. The theme wraps them when a page is shown.
addEventListener("load", () => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) wrap.tabIndex = 0;
});
