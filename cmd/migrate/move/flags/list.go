package flags

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// gatesFile and hooksFile are files with a list of the API.
type (
	gatesFile struct {
		Gates *[]api.HealthGate `json:"gates"`
	}
	hooksFile struct {
		Hooks *[]api.Hook `json:"hooks"`
	}
)

// readFile reads the list in the file of a flag, which has the name of its field. An empty path has no list.
func readFile(flag, path string, into any) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return command.Usagef("--%s: %s does not hold `%s:` with a list of %s: %v", flag, path, flag, map[string]string{flagGates: "health gates", flagHooks: "hooks"}[flag], err)
	}
	return nil
}
