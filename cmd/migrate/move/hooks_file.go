package move

import (
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// hooksFile is a file of hooks, as spec.hooks of a Migration has them.
type hooksFile struct {
	Hooks []api.Hook `json:"hooks"`
}

// mostHooks is how many hooks a migration may have.
const mostHooks = 8

// readHooks reads the hooks of a file; empty: there are none. What the resource definition would
// refuse is refused here, because no API server sees a run's.
func readHooks(path string) ([]api.Hook, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flagHooks, err)
	}
	file := hooksFile{}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, command.Usagef("--%s: %s does not hold `hooks:` with a list of hooks: %v", flagHooks, path, err)
	}
	return file.Hooks, checkHooks(fmt.Sprintf("--%s: %s", flagHooks, path), file.Hooks)
}

// checkHooks refuses what the resource definition would refuse of hooks that are given by something.
func checkHooks(by string, hooks []api.Hook) error {
	if len(hooks) > mostHooks {
		return command.Usagef("%s: there are %d hooks, and a migration may have %d", by, len(hooks), mostHooks)
	}
	for i, hook := range hooks {
		why := wrongHook(hook)
		if slices.ContainsFunc(hooks[:i], func(other api.Hook) bool { return other.Name == hook.Name }) {
			why = "another one has its name"
		}
		if why != "" {
			return command.Usagef("%s: hook %d, %q: %s", by, i+1, hook.Name, why)
		}
	}
	return nil
}

// wrongHook is what the resource definition would refuse of a hook; empty: nothing.
func wrongHook(hook api.Hook) string {
	in := func(value string, words ...string) bool { return slices.Contains(words, value) }
	switch {
	case len(validation.IsDNS1123Label(hook.Name)) > 0:
		return "its name must be of lower-case letters, digits and -"
	case !in(string(hook.Point), string(api.HookBeforeMigration), string(api.HookBeforeOrdinal), string(api.HookAfterOrdinal), string(api.HookAfterMigration)):
		return "point must be one of BeforeMigration, BeforeOrdinal, AfterOrdinal and AfterMigration"
	case !in(string(hook.Side), "", string(api.GateSource), string(api.GateDestination)):
		return "side must be Source or Destination"
	case !in(string(hook.OnFailure), "", string(api.HookFailureStall), string(api.HookFailureContinue), string(api.HookFailureRollback)):
		return "onFailure must be one of Stall, Continue and Rollback"
	case !in(string(hook.OnRollback), "", string(api.HookRollbackRun), string(api.HookRollbackSkip)):
		return "onRollback must be Run or Skip"
	case hook.TimeoutSeconds != nil && (*hook.TimeoutSeconds < 1 || *hook.TimeoutSeconds > longestHook):
		return fmt.Sprintf("timeoutSeconds must be from 1 to %d", longestHook)
	}
	return hook.Unfit()
}

// longestHook is how many seconds a hook may take.
const longestHook = 604800
