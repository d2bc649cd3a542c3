package flags

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// hooks describes spec.hooks of a Migration.
var hooks = list[api.Hook]{
	flag: Hooks, field: "hooks", all: "hooks", one: "hook", most: 8,
	parse: func(text []byte) ([]api.Hook, error) {
		var file struct {
			Hooks []api.Hook `json:"hooks"`
		}
		err := yaml.UnmarshalStrict(text, &file)
		return file.Hooks, err
	},
	name: func(hook api.Hook) string { return hook.Name }, wrong: wrongHook,
}

// wrongHook returns why the resource definition would reject a hook, or an empty string.
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

// longestHook is the maximal timeout of a hook, in seconds.
const longestHook = 604800
