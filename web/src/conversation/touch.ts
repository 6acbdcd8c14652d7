/** Whether one points with a finger: then there is no Shift, and Enter is for new lines. */
export const isTouch = () => matchMedia("(pointer: coarse)").matches;
