/** A part that is loaded when it is first shown. */

import { html, useEffect, useState } from "../vendor/htm-preact.js";

/** @param {() => Promise<{default: any}>} load a dynamic import @returns a component with the same properties */
export function later(load) {
  let Part = null;
  return function Later(props) {
    const [, again] = useState(0);
    useEffect(() => {
      if (Part) return;
      load().then((file) => {
        Part = file.default;
        again(1);
      });
    }, []);
    return Part && html`<${Part} ...${props} />`;
  };
}
