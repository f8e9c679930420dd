// What vega-interpreter asks of the package vega-util, out of the bundle that is loaded already.
export const { ascending, isString, DisallowedObjectProperties } = window.vega;
