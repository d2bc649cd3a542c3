package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/admission"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/look"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/cmd/migrate/storage"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/view"
)

// inPlace reports whether the flags ask for a change of the storage in place.
func (o *moveOptions) inPlace() bool { return o.requested.Spec.Storage != nil }

// validateInPlace rejects a destination, which is the source.
func (o *moveOptions) validateInPlace() error {
	if !o.to.Empty() {
		return command.Usagef("--%s changes the StatefulSet where it is: remove --to-context, --to-kubeconfig, --to-namespace and --to-name", flags.InPlace)
	}
	return nil
}

// choose sets the method of each claim template whose user has named none. A continued run keeps the recorded ones.
func (o *moveOptions) choose(ctx context.Context, t *task) error {
	asked := &o.requested.Spec
	if t.recorded != nil && t.recorded.Status.Baseline != nil && records.Completed(t.recorded) == "" {
		for i := range asked.Volumes {
			if v := &asked.Volumes[i]; v.Method == "" {
				v.Method = api.AskedOf(t.recorded.Spec.Volumes, v.ClaimTemplate).Method
			}
		}
		return nil
	}
	return chooseIn(ctx, t.source, o.requested, &o.spec)
}

// chooseIn chooses the methods by the claims of a StatefulSet in a cluster.
func chooseIn(ctx context.Context, at *clusters.Connection, m *api.Migration, spec *flags.Spec) error {
	templates, err := spec.Templates(m.Namespace)
	if err != nil {
		return err
	}
	chosen, err := look.Chosen(ctx, at, m, templates)
	if err != nil {
		return look.Unread(err)
	}
	if len(chosen) == 0 {
		if len(templates) > 0 {
			return nil // the claim templates are as in the manifest
		}
		return command.Usagef("no change is given: set --%s TEMPLATE=class=CLASS,size=SIZE or --%s FILE", flags.Volume, flags.FromManifest)
	}
	m.Spec.Volumes = chosen
	err = admission.Spec(ctx, m.Spec)
	if refused, is := errors.AsType[admission.Refused](err); is {
		return command.Usagef("these settings make no valid Migration:\n%s", refused.Text(spec.Origin))
	}
	return err
}

// planInPlace shows what a change in place does.
func (o *planOptions) planInPlace(ctx context.Context) error {
	switch {
	case o.output.Value == "html" || o.output.Value == "svg":
		return command.Usagef("-o %s shows a move; with --%s: table, wide, json or yaml", o.output.Value, flags.InPlace)
	case o.diff:
		return command.Usagef("--diff shows a move; -o wide shows each difference of a change with --%s", flags.InPlace)
	}
	t, m, stands, err := o.begin(ctx, nil)
	if err != nil {
		return err
	}
	d, err := look.InPlace(ctx, t.source, m)
	if err != nil {
		return err
	}
	var commands []string
	if stands == preview.Beginning {
		commands = []string{o.insteadOf("run"), o.insteadOf("create") + "   # for a manager"}
	} else {
		commands = []string{o.Again("run", o.set, o.namespace, "--"+flags.InPlace)}
	}
	printer := preview.Printer{Out: o.Out, Paint: o.Paint(), Wide: o.output.Value == "wide"}
	if err := terminal.Print(o.Out, o.output.Value, d, func(d outlook.Plan) error { return printer.InPlace(d, commands...) }); err != nil {
		return err
	}
	switch {
	case d.Refused:
		return command.Refusedf("the change of the storage of StatefulSet %s/%s would be refused", o.namespace, o.set)
	case o.exitCode && d.Pending():
		return errPending
	}
	return nil
}

// insteadOf returns this command line with another command, for a change in place.
func (o *planOptions) insteadOf(verb string) string {
	words := []string{o.Program}
	seen := false
	for i := 0; i < len(o.Args); i++ {
		word := o.Args[i]
		switch {
		case !seen && (word == "storage" || word == "plan"):
			words, seen = append(words, verb), true
		case word == "-o" || word == "--output":
			i++
		case strings.HasPrefix(word, "-o=") || strings.HasPrefix(word, "--output=") || strings.HasPrefix(word, "-o") && !strings.HasPrefix(word, "--"):
		case word == "--exit-code":
		default:
			words = append(words, shell.Quote(word))
		}
	}
	if !slices.ContainsFunc(o.Args, func(word string) bool { return strings.HasPrefix(word, "--"+flags.InPlace) }) {
		words = append(words, "--"+flags.InPlace)
	}
	return strings.Join(words, " ")
}

// preflightInPlace runs all checks of a change in place before the first write.
func (o *runOptions) preflightInPlace(ctx context.Context, t *task, m *api.Migration, n *progress.Tracker, d progress.Display) error {
	plan, err := look.InPlace(ctx, t.source, m)
	if err != nil {
		return err
	}
	o.showFindings(plan.Findings, n, d)
	if plan.Refused {
		return command.Refusedf("the change of the storage of StatefulSet %s/%s is refused (%s); nothing has been changed", o.namespace, o.set, view.Count(preview.Refusals(plan.Findings), "error"))
	}
	if !plan.Pending() {
		return errNothingInPlace
	}
	n.Expect(int32(plan.Summary.Replicas), int32(plan.Summary.Replicas)) //nolint:gosec // a number of ordinals
	d.Show(n.Event(o.Clock.Now(), progress.Started, fmt.Sprintf("%s: %d of %s behind, disruption budget %d",
		o.changing(t), plan.Summary.Behind, view.Count(plan.Summary.Replicas, "ordinal"), plan.Summary.Budget)))
	return nil
}

// wayBackInPlace returns the command that plans the former storage again. Words in capitals stand for the former values, which
// the old volumes show.
func wayBackInPlace(c *command.Common, m *api.Migration) string {
	words := []string{c.Again("storage", m.Spec.Source.Name, m.Namespace)}
	for _, v := range m.Spec.Volumes {
		var settings []string
		for _, setting := range []struct {
			given bool
			word  string
		}{{v.StorageClassName != nil, "class=CLASS"}, {v.Size != nil, "size=SIZE"}, {v.VolumeAttributesClassName != nil, "attributes=CLASS"}} {
			if setting.given {
				settings = append(settings, setting.word)
			}
		}
		if v.Method == api.MethodCopy {
			settings = append(settings, "method=copy", "image="+v.Copy.Image)
		}
		words = append(words, command.FlagWords("--"+flags.Volume, v.ClaimTemplate+"="+strings.Join(settings, ","))...)
	}
	return strings.Join(words, " ")
}

// errNothingInPlace is the result of the checks if every claim is as the wanted templates. It is not a failure.
var errNothingInPlace = errors.New("every claim is as its template")

// changing names a change in place in events.
func (o *moveOptions) changing(t *task) string {
	return fmt.Sprintf("changing the storage of StatefulSet %s/%s in cluster %s", o.namespace, o.set, t.source.Name())
}

// newStorage returns the command storage: without a change it lists differences, and with one it plans the change.
func newStorage(c *command.Common) *cobra.Command {
	p := &storagePlan{planOptions{moveOptions: moveOptions{Common: c}}}
	return storage.New(c, p)
}

// storagePlan plans a change in place for the command storage.
type storagePlan struct{ planOptions }

// Add implements storage.Change.
func (p *storagePlan) Add(cmd *cobra.Command, output *command.Choice) {
	p.spec.Add(cmd.Flags())
	p.output = output
}

// Asked implements storage.Change.
func (p *storagePlan) Asked() bool {
	if !p.spec.Given(flags.Volume) && !p.spec.Given(flags.FromManifest) && !p.spec.Given(flags.StorageClass) {
		return false
	}
	p.spec.SetInPlace()
	return true
}
