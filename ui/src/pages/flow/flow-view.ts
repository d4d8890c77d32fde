/** Where one looks at a picture from, and how near. */
export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}
interface Size {
  readonly width: number;
  readonly height: number;
}

export const SCALE = { least: 0.08, most: 2 } as const;

/** The view that shows the whole picture in the middle, never enlarged. */
export function fit(picture: Size, frame: Size): View {
  if (picture.width === 0 || picture.height === 0 || frame.width === 0) return { x: 0, y: 0, scale: 1 };
  const scale = Math.max(SCALE.least, Math.min(1, frame.width / picture.width, frame.height / picture.height));
  return { scale, x: (frame.width - picture.width * scale) / 2, y: (frame.height - picture.height * scale) / 2 };
}

/** Below this, names cannot be read. */
const READABLE = 0.75;

/** Where one begins: the whole picture, or as much of it from the top as can be read. */
export function firstView(picture: Size, frame: Size): View {
  const whole = fit(picture, frame);
  if (whole.scale >= READABLE || frame.width === 0) return whole;
  const scale = Math.max(whole.scale, Math.min(READABLE, frame.width / picture.width));
  const room = (all: number, part: number) => Math.max(0, (all - part * scale) / 2);
  return { scale, x: room(frame.width, picture.width), y: room(frame.height, picture.height) };
}

/** Nearer or farther, with the same spot of the picture below the pointer. */
export function zoomAt(view: View, factor: number, at: { readonly x: number; readonly y: number }): View {
  const scale = Math.min(SCALE.most, Math.max(SCALE.least, view.scale * factor));
  const ratio = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio };
}

/** The part of the picture that a view shows. */
export const shownPart = (view: View, frame: Size) => ({
  x: -view.x / view.scale,
  y: -view.y / view.scale,
  width: frame.width / view.scale,
  height: frame.height / view.scale,
});

/** The view whose middle is at a point of the picture. */
export const centreOn = (view: View, frame: Size, point: { readonly x: number; readonly y: number }): View => ({
  ...view,
  x: frame.width / 2 - point.x * view.scale,
  y: frame.height / 2 - point.y * view.scale,
});
