package move

import (
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
