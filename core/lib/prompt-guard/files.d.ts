/** The path of a file that a program reads itself, also inside an executable. */
declare module '*.bin' {
  const path: string;
  export default path;
}
