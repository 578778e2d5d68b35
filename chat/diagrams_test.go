package chat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// diagrams returns every conversation as a Mermaid state diagram, the content of docs/conversations.md. Its order is
// stable: a test compares it with the file.
func diagrams() string {
	var out strings.Builder
	all := map[string]Flow{}
	for _, c := range conversations() {
		if c.flow != nil {
			all[c.name] = c.flow
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "## /%s\n\n```mermaid\nstateDiagram-v2\n    [*] --> idle\n", name)
		flow := all[name]
		for _, from := range slices.Sorted(maps.Keys(flow)) {
			for _, by := range slices.Sorted(maps.Keys(flow[from])) {
				fmt.Fprintf(&out, "    %s --> %s: %s\n", stateID(from), stateID(flow[from][by].To), by)
			}
		}
		out.WriteString("```\n\n")
	}
	return out.String()
}

// stateID returns the state's name without spaces, which ids in Mermaid must not have.
func stateID(s State) string { return strings.ReplaceAll(string(s), " ", "_") }
