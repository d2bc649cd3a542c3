package flags

import (
	"github.com/spf13/pflag"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// dependencies holds the flags for objects, other than volumes, that the pods need.
type dependencies struct {
	copy                                         bool
	onConflict, onChange, selectsOthers, cleanup *command.Choice
}

// Names of these flags.
const (
	flagCopy          = "copy-dependencies"
	flagOnConflict    = "on-conflict"
	flagOnChange      = "on-change"
	flagSelectsOthers = "selects-others"
	flagCleanCopies   = "cleanup-copies"
)

func (f *dependencies) add(flags *pflag.FlagSet) {
	f.onConflict = command.NewChoice("stall", "stall", "keep", "overwrite")
	f.onChange = command.NewChoice("follow", "follow", "stall")
	f.selectsOthers = command.NewChoice("stall", "stall", "leave", "copy")
	f.cleanup = command.NewChoice("retain", "retain", "delete")
	flags.BoolVar(&f.copy, flagCopy, false, "copy the other objects that the pods need: ConfigMaps, Secrets, the ServiceAccount and its rights, Services and NetworkPolicies")
	flags.Var(f.onConflict, flagOnConflict, "if the destination has another object with the name of a copy: show the difference and wait, keep it, or overwrite it")
	flags.Var(f.onChange, flagOnChange, "what happens to a copy when its original changes during the move")
	flags.Var(f.selectsOthers, flagSelectsOthers, "what happens to a Service or a NetworkPolicy that selects other pods, too")
	flags.Var(f.cleanup, flagCleanCopies, "what happens to the copies when every ordinal is back at the source")
}

// Policies by the words of the flags.
var (
	conflictPolicies = map[string]api.ConflictPolicy{"stall": api.ConflictStall, "keep": api.ConflictKeep, "overwrite": api.ConflictOverwrite}
	changePolicies   = map[string]api.ChangePolicy{"follow": api.ChangeFollow, "stall": api.ChangeStall}
	othersPolicies   = map[string]api.SelectsOthersPolicy{"stall": api.SelectsOthersStall, "leave": api.SelectsOthersLeave, "copy": api.SelectsOthersCopy}
	cleanupPolicies  = map[string]api.CleanupPolicy{"retain": api.CleanupRetain, "delete": api.CleanupDelete}
)

// set sets the given flags in a spec and leaves its other fields unchanged.
func (f *dependencies) set(spec *api.DependenciesSpec, given func(string) bool) {
	if given(flagCopy) {
		spec.Mode = api.DependenciesCheck
		if f.copy {
			spec.Mode = api.DependenciesCopy
		}
	}
	if given(flagOnConflict) {
		spec.OnConflict = conflictPolicies[f.onConflict.Value]
	}
	if given(flagOnChange) {
		spec.OnChange = changePolicies[f.onChange.Value]
	}
	if given(flagSelectsOthers) {
		spec.SelectsOthers = othersPolicies[f.selectsOthers.Value]
	}
	if given(flagCleanCopies) {
		spec.Cleanup = cleanupPolicies[f.cleanup.Value]
	}
}

// check rejects flags that have no meaning without copies.
func (f *dependencies) check(spec api.DependenciesSpec, given func(string) bool) error {
	for _, flag := range []string{flagOnConflict, flagOnChange, flagSelectsOthers, flagCleanCopies} {
		if given(flag) && given(flagCopy) && spec.Mode != api.DependenciesCopy {
			return command.Usagef("--%s is for --%s", flag, flagCopy)
		}
	}
	return nil
}
