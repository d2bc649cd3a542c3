// Package storage provides the command that compares the claims of StatefulSets with their claim templates, and plans a
// change of their storage.
package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// options are the options of the command storage.
type options struct {
	*command.Common
	name, selector string
	all, check     bool
	labels         labels.Selector
	output         *command.Choice
	change         Change
}

// Change plans a change of the storage of a StatefulSet.
type Change interface {
	command.Options
	// Add adds its flags to the command. output is the format of the command.
	Add(cmd *cobra.Command, output *command.Choice)
	// Asked reports whether its flags ask for a change.
	Asked() bool
}

const help = `Without a change, lists the claims of StatefulSets that differ from their claim template: in
storage class, size, attributes class, access modes or volume mode. Kubernetes applies a template only to
new claims, so claims differ after they were grown by hand, after a StatefulSet was
recreated with other templates, or after the default class has changed. It reads
StatefulSets of apps/v1 and of apps.sliceshift.io, and writes nothing.

NEEDS is the work that lets a claim follow its template:

  nothing     Kubernetes is at work, or the difference has no effect
  expand      grow the claim in place: its class allows expansion
  modify      name the VolumeAttributesClass in the claim: its driver modifies the volume
  recreate    the claim has no volume yet
  copy        move the data to a new volume
  refill      the application must fill a new volume: no copy turns files into blocks
  undecided   it depends on an object that does not exist, or that you may not read
  unknown     the field cannot be compared

With -o wide the reason follows, and with -o json and yaml each claim, and the kubectl
command where one is enough. OWNER is the controller of the StatefulSet, such as an
operator: change the storage there, because it writes the templates.

A claim whose StatefulSet was scaled down counts too: the next scale-up uses it.

With --volume or --from-manifest it plans a change of one StatefulSet in place: under its own
name, one ordinal at a time, while the others run. It shows for each claim the difference, the
work, the bytes and the outage, and what stands in the way, and prints the commands that do it:
migrate run and migrate create with --in-place. status, pause, resume, rollback and report
take its name, as for a move.

Exit codes with --check: 0 all claims are as their templates, 1 some are not or cannot be
compared, above 1 an error.`

const examples = `  # Of one StatefulSet, with reasons
  migrate storage web -n shop --context east -o wide

  # Of a namespace, of those with a label, of the whole cluster
  migrate storage -n shop --context east
  migrate storage -n shop --context east -l app=web
  migrate storage -A --context east

  # What would another class and a smaller size do?
  migrate storage web -n shop --context east --volume data=class=fast,size=512Mi,image=IMAGE

  # The claim templates of a manifest
  migrate storage web -n shop --context east --from-manifest statefulset.yaml --volume data=image=IMAGE

  # In a pipeline: fail when a claim is not as its template
  migrate storage -A --context east --check >/dev/null

  # The commands that need no copy
  migrate storage -n shop --context east -o json | jq -r '.items[].claims[].differences[].command // empty'`

// New returns the command storage.
func New(c *command.Common, change Change) *cobra.Command {
	o := &options{Common: c, change: change}
	cmd := c.Command(o, &cobra.Command{
		Use: "storage [STATEFULSET]", Short: "List claims that differ from their claim template, or plan a change of storage; writes nothing",
		Long: help, Example: examples,
	})
	o.output = command.AddOutput(cmd, "table", "wide", "json", "yaml")
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "without a name: the StatefulSets of all namespaces")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "without a name: only StatefulSets with these labels, such as app=web")
	change.Add(cmd, o.output)
	cmd.Flags().BoolVar(&o.check, "check", false, "exit with 0 when all claims are as their templates, 1 when not, above 1 on an error")
	return cmd
}

// Complete reads the name, if there is one.
func (o *options) Complete(cmd *cobra.Command, args []string) (err error) {
	if o.change.Asked() {
		switch {
		case o.all || o.selector != "":
			return command.Usagef("a change is of one StatefulSet: leave out --all-namespaces and --selector")
		case o.check:
			return command.Usagef("--check lists differences; plan --in-place --exit-code checks whether a change has work left")
		}
		return o.change.Complete(cmd, args)
	}
	if len(args) > 0 {
		o.name, err = command.Argument(cmd, args, "StatefulSet")
	}
	return err
}

// Validate rejects invalid combinations of flags.
func (o *options) Validate() (err error) {
	if o.change.Asked() {
		return o.change.Validate()
	}
	switch {
	case o.name != "" && o.all:
		return command.Usagef("--all-namespaces is for the list, without a name")
	case o.name != "" && o.selector != "":
		return command.Usagef("--selector is for the list, without a name")
	case o.all && *o.Config.Namespace != "":
		return command.Usagef("--namespace and --all-namespaces exclude each other")
	}
	if o.labels, err = labels.Parse(o.selector); err != nil {
		return command.Usagef("--selector: %v", err)
	}
	return nil
}

// errDiffers is the result of --check if a claim is not as its template. It is not a failure.
var errDiffers = &command.ExitError{Code: 1, Err: errors.New("claims differ from their templates"), Silent: true}

// Run compares and prints.
func (o *options) Run(ctx context.Context) error {
	if o.change.Asked() {
		return o.change.Run(ctx)
	}
	err := o.run(ctx)
	if o.check {
		// Exit code 1 means that claims differ.
		err = command.WithCode(command.ExitUsage, err)
	}
	return err
}

func (o *options) run(ctx context.Context) error {
	connection, namespace, err := o.ConnectTo()
	if err != nil {
		return err
	}
	where := "namespace " + namespace
	if o.all {
		namespace, where = "", "any namespace"
	}
	r := &reader{sets.Of(connection), connection.Name()}
	all, err := r.read(ctx, sets.Scope{Namespace: namespace, Name: o.name, Selector: o.labels})
	if err != nil {
		return command.Unreachable(connection.Name(), err)
	}
	if o.name != "" && len(all.sets) == 0 {
		return o.missing(ctx, r, namespace)
	}
	report := newReport(all, plan.Kubectl(connection.Name(), connection.Flags()))
	if err := terminal.Print(o.Out, o.output.Value, report, o.print); err != nil {
		return err
	}
	if len(report.Items) == 0 && (o.Terminal() || report.Checked.StatefulSets == 0) {
		fmt.Fprintln(o.ErrOut, report.none(where, connection.Name()))
	}
	if o.check && len(report.Items) > 0 {
		return errDiffers
	}
	return nil
}

// missing returns the error for a StatefulSet that does not exist.
func (o *options) missing(ctx context.Context, r *reader, namespace string) error {
	var names []string
	for _, kind := range r.Kinds {
		names = append(names, command.NamesIn(ctx, r.Reader, kind, namespace)...)
	}
	return fmt.Errorf("no StatefulSet %s/%s in cluster %s%s", namespace, o.name, r.cluster, command.DidYouMean(o.name, names))
}

// print prints the table.
func (o *options) print(report report) error {
	if len(report.Items) == 0 {
		return nil
	}
	wide := o.output.Value == "wide"
	t := terminal.Table{Head: head(o.all, wide)}
	hidden := false
	for _, row := range report.rows() {
		t.Add(nil, row.cells(o.all, wide)...)
		hidden = hidden || row.explain && !wide
	}
	if err := t.Write(o.Out, o.Paint()); err != nil || !hidden || !o.Terminal() {
		return err
	}
	_, err := fmt.Fprintln(o.ErrOut, "Some claims cannot be judged; -o wide shows why.")
	return err
}
