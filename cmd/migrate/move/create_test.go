package move

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/internal/golden"
)

func TestCreateDryRun(t *testing.T) {
	c := newConsole("create", "web", "-n", "shop", "--source-secret", "east", "--destination-secret", "west/kubeconfig",
		"--service-account", "mover", "--mode", "pause", "--count", "2", "--max-unavailable", "10%", "--storage-class", "data=fast",
		"--export-services", "--create-namespace", "--to-namespace", "store", "--name", "web-2", "--dry-run=client", "-o", "yaml",
		"--kubeconfig", apitest.SilentKubeconfig(t, "east"))
	if code := c.Run(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, c.Stderr)
	}
	golden.Compare(t, "create.yaml", c.Stdout.String())
}

func TestCreateFormats(t *testing.T) {
	for format, want := range map[string]string{
		"name": "migration.migration.sliceshift.io/web\n",
		"json": `"kind": "Migration"`,
		"":     "migration.migration.sliceshift.io/web created (dry run)\n",
	} {
		t.Run("format "+format, func(t *testing.T) {
			c := newConsole("create", "sts/web", "--to-namespace", "store", "--dry-run=client", "-o", format, "--kubeconfig", apitest.SilentKubeconfig(t, "east"))
			if code := c.Run(t); code != 0 || !strings.Contains(c.Stdout.String(), want) {
				t.Errorf("exit code %d, output %q, want %q; %s", code, c.Stdout, want, c.Stderr)
			}
		})
	}
}

// TestCreateWithoutMode: who applies the file again does not write the mode, which its user and the migration itself change.
func TestCreateWithoutMode(t *testing.T) {
	for mode, want := range map[string]bool{"run": false, "pause": true} {
		c := newConsole("create", "web", "--to-namespace", "store", "--mode", mode, "--dry-run=client", "-o", "yaml", "--kubeconfig", apitest.SilentKubeconfig(t, "east"))
		if code := c.Run(t); code != 0 || strings.Contains(c.Stdout.String(), "\n  mode: ") != want {
			t.Errorf("%s: exit code %d: %s", mode, code, c.Stdout)
		}
	}
}

// TestCreateByRecipe: the recipe is in the Migration, below what was asked for.
func TestCreateByRecipe(t *testing.T) {
	gates := filepath.Join(t.TempDir(), "gates.yaml")
	own := "gates: [{name: etcd-linearizable, at: [AfterStart], grpc: {port: 2381}}, {name: ours, at: [AtEnd], cel: {objects: {apiVersion: v1, kind: ConfigMap, name: a}, expression: object != null}}]"
	if err := os.WriteFile(gates, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args, want, without []string
	}{
		"alone": {nil, []string{"order: HighestFirst", "maxUnavailable: 1", "perOrdinal: Export", "name: etcd-linearizable", "path: /readyz", "port: 2379"}, []string{"grpc"}},
		"below what was asked for": {
			[]string{"--order", "lowest-first", "--max-unavailable", "2", "--export-ordinals=false", "--gates", gates},
			[]string{"order: LowestFirst", "maxUnavailable: 2", "grpc:", "name: ours"},
			[]string{"perOrdinal", "/readyz"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"create", "web", "--to-namespace", "store", "--recipe", "etcd", "--dry-run=client", "-o", "yaml", "--kubeconfig", apitest.SilentKubeconfig(t, "east")}, tc.args...)
			c := newConsole(args...)
			if code := c.Run(t); code != 0 {
				t.Fatalf("exit code %d: %s", code, c.Stderr)
			}
			for _, text := range tc.want {
				if !strings.Contains(c.Stdout.String(), text) {
					t.Errorf("the Migration lacks %q:\n%s", text, c.Stdout)
				}
			}
			for _, text := range tc.without {
				if strings.Contains(c.Stdout.String(), text) {
					t.Errorf("the Migration has %q:\n%s", text, c.Stdout)
				}
			}
		})
	}
}
