// The view library, bound together: html`<p>${text}</p>` makes elements of preact.
import { h, render, createContext, Component } from './preact.js'
import htm from './htm.js'

export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId } from './preact-hooks.js'
export { render, createContext, Component }
export const html = htm.bind(h)
