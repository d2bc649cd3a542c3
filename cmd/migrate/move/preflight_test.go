package move

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
)

const manifest = `apiVersion: migration.sliceshift.io/v1alpha1
kind: Migration
metadata: {name: web, namespace: shop}
spec:
  source: {name: web}
  destination: {namespace: store}
`

// TestPreflightOfAFile: with a file, the move is described by the file alone.
func TestPreflightOfAFile(t *testing.T) {
	kubeconfig := apitest.SilentKubeconfig(t, "east", "west")
	remote := strings.Replace(manifest, "{namespace: store}", "{kubeConfigSecretRef: {name: west}}", 1)
	for name, tc := range map[string]struct {
		file string
		args []string
		code int
		says string
	}{
		"it is asked of the clusters": {manifest, nil, 1, "cluster east cannot be read"},
		"a name besides":              {manifest, []string{"web"}, 2, `"web" is one too many`},
		"a flag besides":              {manifest, []string{"--count", "2"}, 2, "so does --count"},
		"a place besides":             {manifest, []string{"--to-namespace", "x"}, 2, "so does --to-namespace"},
		"a cluster is in a Secret":    {remote, nil, 2, "give --to-context or --to-kubeconfig"},
		"a cluster is told":           {remote, []string{"--to-context", "west"}, 1, "cluster east cannot be read"},
		"another kind":                {strings.Replace(manifest, "kind: Migration", "kind: Pod", 1), nil, 1, "not Migration of migration.sliceshift.io/v1alpha1"},
		"a field that there is not":   {manifest + "  sauce: hot\n", nil, 1, `unknown field "spec.sauce"`},
		"a field twice":               {manifest + "  source: {name: db}\n", nil, 1, `"source" already set`},
		"a word that there is not":    {manifest + "  mode: Go\n", nil, 3, `spec.mode: Unsupported value: "Go"`},
		"no source":                   {strings.Replace(manifest, "{name: web}\n  dest", "{}\n  dest", 1), nil, 3, "spec.source.name: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "migration.yaml")
			if err := os.WriteFile(path, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
			c := commandtest.New(Commands, append([]string{"preflight", "-f", path, "--kubeconfig", kubeconfig, "--context", "east"}, tc.args...)...)
			if code := c.Run(t); code != tc.code || !strings.Contains(c.Stderr.String(), tc.says) {
				t.Errorf("ended with %d, want %d and %q:\n%s", code, tc.code, tc.says, c.Stderr)
			}
		})
	}
}
