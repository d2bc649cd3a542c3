package manual

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadFindsCommands: complete commands are found, and mentions are not.
func TestReadFindsCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"lines of a block":    {"```sh\na -x   # why\n\n# a remark\nb\n```\n", []string{"a -x", "b"}},
		"a line that goes on": {"```sh\na \\\n  -x\nb\n```\n", []string{"a \\\n  -x", "b"}},
		"quotes that go on":   {"```sh\na -p '{\n}'\nb\n```\n", []string{"a -p '{\n}'", "b"}},
		"a document":          {"```sh\na -f - <<'YAML'\nb: 1  # kept\nYAML\nb\n```\n", []string{"a -f - <<'YAML'\nb: 1  # kept\nYAML", "b"}},
		"a variable":          {"```sh\nx=1\na $x\n```\n", []string{"x=1\na $x"}},
		"another language":    {"```yaml\na: 1\n```\n", nil},
		"prose":               {"Call `kubectl get pv -o wide`, and `kubectl get\npods -n shop`.\n", []string{"kubectl get pv -o wide", "kubectl get pods -n shop"}},
		"a mention":           {"As `kubectl drain` does, or `kubectl migrate install --image ...`, or `kubectl create -f`.\n", nil},
		"not in a block":      {"```yaml\n# `kubectl get pv -o wide`\n```\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "page.md"), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := Read(root, "page.md")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, each := range found {
				got = append(got, each.Text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}
