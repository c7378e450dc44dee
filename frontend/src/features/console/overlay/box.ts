/** In shares of the picture, 0 to 1. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  score: number | null;
  classId: number | null;
}
