package flags

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// changeable holds the flags whose fields may change during a move, each with how a spec takes the field from another.
var changeable = map[string]func(to, from *api.MigrationSpec){
	flagMaxInFlight: func(to, from *api.MigrationSpec) { to.Handoff.MaxInFlight = from.Handoff.MaxInFlight },
	flagMinReady:    func(to, from *api.MigrationSpec) { to.Handoff.MinReadySeconds = from.Handoff.MinReadySeconds },
	flagDeadline: func(to, from *api.MigrationSpec) {
		to.Handoff.ProgressDeadlineSeconds = from.Handoff.ProgressDeadlineSeconds
	},
	flagSplitBudget:   func(to, from *api.MigrationSpec) { to.SplitBudget = from.SplitBudget },
	flagGates:         func(to, from *api.MigrationSpec) { to.Gates = from.Gates },
	flagHooks:         func(to, from *api.MigrationSpec) { to.Hooks = from.Hooks },
	flagProbe:         func(to, from *api.MigrationSpec) { to.Probe = from.Probe },
	flagPauseWriters:  func(to, from *api.MigrationSpec) { to.Writers.Pause = from.Writers.Pause },
	flagPausedByHand:  func(to, from *api.MigrationSpec) { to.Writers.PausedByHand = from.Writers.PausedByHand },
	flagCopy:          func(to, from *api.MigrationSpec) { to.Dependencies.Mode = from.Dependencies.Mode },
	flagOnConflict:    func(to, from *api.MigrationSpec) { to.Dependencies.OnConflict = from.Dependencies.OnConflict },
	flagOnChange:      func(to, from *api.MigrationSpec) { to.Dependencies.OnChange = from.Dependencies.OnChange },
	flagSelectsOthers: func(to, from *api.MigrationSpec) { to.Dependencies.SelectsOthers = from.Dependencies.SelectsOthers },
	flagCleanCopies:   func(to, from *api.MigrationSpec) { to.Dependencies.Cleanup = from.Dependencies.Cleanup },
	flagCleanup:       func(to, from *api.MigrationSpec) { to.Cleanup = from.Cleanup },
	flagWindow:        takeSchedule,
	flagTimeZone:      takeSchedule,
	flagNotBefore:     takeSchedule,
	flagNotAfter:      takeSchedule,
	flagExpected:      takeSchedule,
}

func takeSchedule(to, from *api.MigrationSpec) { to.Schedule = from.Schedule }

// Adopt sets in the spec of a move that is under way the given flags that may change. asked is the spec of the flags.
func (f *Spec) Adopt(spec *api.MigrationSpec, asked api.MigrationSpec) {
	for flag, take := range changeable {
		if f.Given(flag) || f.cooked != nil && (flag == flagGates || flag == flagHooks) {
			take(spec, &asked)
		}
	}
}

// fixed lists the settings that cannot change during a move, each with its flag and its text.
var fixed = []struct {
	name, flag string
	text       func(api.MigrationSpec) string
}{
	{Kind, Kind, func(s api.MigrationSpec) string { return s.Source.APIVersion }},
	{ToKind, ToKind, func(s api.MigrationSpec) string { return s.Destination.APIVersion }},
	{"order", flagOrder, func(s api.MigrationSpec) string { return string(s.Ordinals.Order) }},
	{"count", Count, countText},
	{"max-unavailable", flagMaxUnavailable, budgetText},
	{"storage classes", StorageClass, perTemplate("the source's", func(v api.VolumeSpec) string { return ofTemplate(v, ptr.Deref(v.StorageClassName, "")) })},
	{"access modes", flagAccessModes, perTemplate("the source's", func(v api.VolumeSpec) string { return ofTemplate(v, api.Modes(v.AccessModes)) })},
	{"shared paths", flagShared, perTemplate("none", func(v api.VolumeSpec) string { return map[bool]string{true: v.ClaimTemplate}[v.Shared] })},
	{"methods of volumes", Volume, perTemplate("rebind", methodText)},
	{"storage", Volume, storageText},
	{"export-services", ExportServices, func(s api.MigrationSpec) string { return strconv.FormatBool(s.Services.Export) }},
	{ExportOrdinals, ExportOrdinals, func(s api.MigrationSpec) string { return string(s.Services.Spelled().PerOrdinal) }},
}

// Differences returns the settings of the given flags that differ from the recorded ones and cannot change any more.
func (f *Spec) Differences(recorded, asked api.MigrationSpec) (out []string) {
	for _, each := range fixed {
		given := f.Given(each.flag) || each.flag == flagOrder && f.cooked != nil && f.cooked.Settings.Order != ""
		if was, is := each.text(recorded), each.text(asked); given && was != is {
			out = append(out, fmt.Sprintf("%s: recorded %s, asked for %s", each.name, was, is))
		}
	}
	return out
}

func countText(s api.MigrationSpec) string {
	if s.Ordinals.Count == nil {
		return "all"
	}
	return strconv.Itoa(int(*s.Ordinals.Count))
}

func budgetText(s api.MigrationSpec) string {
	if s.MaxUnavailable == nil {
		return "the PodDisruptionBudget's"
	}
	return s.MaxUnavailable.String()
}

func methodText(v api.VolumeSpec) string {
	if v.Method == "" || v.Method == api.MethodRebind {
		return ""
	}
	return ofTemplate(v, command.Word(v.Method))
}

// storageText returns the wanted storage of each claim template of a change in place; empty for a move.
func storageText(s api.MigrationSpec) string {
	if s.Storage == nil {
		return ""
	}
	return perTemplate("the present", func(v api.VolumeSpec) string {
		var words []string
		if v.StorageClassName != nil {
			words = append(words, "class="+*v.StorageClassName)
		}
		if v.Size != nil {
			words = append(words, "size="+v.Size.String())
		}
		if v.VolumeAttributesClassName != nil {
			words = append(words, "attributes="+*v.VolumeAttributesClassName)
		}
		return ofTemplate(v, strings.Join(words, ","))
	})(s)
}

// ofTemplate returns a setting of a claim template, or an empty string if it has none.
func ofTemplate(v api.VolumeSpec, value string) string {
	if value == "" {
		return ""
	}
	return v.ClaimTemplate + "=" + value
}

// perTemplate returns the settings of all claim templates, as text.
func perTemplate(none string, of func(api.VolumeSpec) string) func(api.MigrationSpec) string {
	return func(s api.MigrationSpec) string {
		var words []string
		for _, v := range s.Volumes {
			if is := of(v); is != "" {
				words = append(words, is)
			}
		}
		return cmp.Or(strings.Join(words, ","), none)
	}
}
