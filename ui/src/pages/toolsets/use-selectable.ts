import { useQuery } from '#ui/src/components/use-query.ts';

/** Everything that a toolset can select, with its name. */
export function useSelectable() {
  const layout = useQuery((read) => read('flow.layout', {}));
  const owned = () => {
    const found = layout.data();
    return found === undefined ? [] : [...found.tools, ...found.resources, ...found.prompts];
  };
  return {
    ready: () => layout.data() !== undefined,
    problem: layout.problem,
    reload: layout.reload,
    connections: () => layout.data()?.connections ?? [],
    tools: () => layout.data()?.tools ?? [],
    resources: () => layout.data()?.resources ?? [],
    prompts: () => layout.data()?.prompts ?? [],
    tags: () => [...new Set(owned().flatMap(({ tags }) => tags))].sort(),
  };
}
export type Selectable = ReturnType<typeof useSelectable>;
