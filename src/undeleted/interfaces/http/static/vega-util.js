// The parts of vega-util that vega-interpreter imports, taken from the bundle that is already loaded.
export const { ascending, isString, DisallowedObjectProperties } = window.vega;
