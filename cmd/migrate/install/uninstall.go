package install

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/kept"
	"github.com/sliceshift/sliceshift/internal/records"
)

// uninstallOptions are the options of the command uninstall.
type uninstallOptions struct {
	*command.Common
	crds    bool
	paused  bool
	wait    bool
	timeout time.Duration
}

const uninstallHelp = `Removes what install has created in a cluster: the manager, its roles and the admission policies.

It refuses while a Migration is in progress: no manager would start the ordinal that is
down, or restore the disruption budget. --paused allows paused Migrations that have no
ordinal in flight: every ordinal runs, on one side or the other, and they can continue
once a manager is installed again. The resource definitions stay, because deleting them
would delete Migrations, StatefulSets of apps.sliceshift.io and their pods; --crds deletes
them when there are none of either. A namespace that existed before the installation
stays. Volumes that ordinals have left behind stay, too; the command lists them with the
commands that remove them.

Exit codes: 0 done, 1 error, 2 usage, 3 refused, 4 timeout.`

const uninstallExamples = `  # All but the resource definitions
  migrate uninstall --context east

  # In the middle of a move: pause it, and continue later
  migrate pause web -n shop --context east
  migrate uninstall --paused --context east
  migrate install --context east --image registry.example.com/sliceshift-manager:v1
  migrate resume web -n shop --context east

  # Everything
  kubectl delete migrations --all -A --context east
  migrate uninstall --crds --context east`

func newUninstall(c *command.Common) *cobra.Command {
	o := &uninstallOptions{Common: c}
	cmd := c.Command(o, &cobra.Command{
		Use: "uninstall", Short: "Remove the manager from a cluster",
		Long: uninstallHelp, Example: uninstallExamples,
	})
	cmd.Flags().BoolVar(&o.crds, "crds", false, "delete the resource definitions, too")
	cmd.Flags().BoolVar(&o.paused, "paused", false, "allow paused migrations, which stay paused")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "wait until everything is deleted")
	cmd.Flags().DurationVar(&o.timeout, "timeout", installTimeout, "how long it may take")
	return cmd
}

// Validate rejects invalid combinations of flags.
func (o *uninstallOptions) Validate() error {
	switch {
	case o.timeout <= 0:
		return command.Usagef("--timeout must be above 0")
	case o.paused && o.crds:
		return command.Usagef("--paused and --crds exclude each other: deleting the definitions deletes the migrations")
	}
	return nil
}

// Run uninstalls the manager.
func (o *uninstallOptions) Run(ctx context.Context) error {
	return carryOut(ctx, o.Common, o.timeout, o.check, o.kept, o.remove)
}

// check refuses while Migrations are in progress, or while the definitions still have objects.
func (o *uninstallOptions) check(ctx context.Context, target *target) error {
	migrations, slices := &api.MigrationList{}, &slicesapi.StatefulSetList{}
	for _, list := range []client.ObjectList{migrations, slices} {
		if err := target.client.List(ctx, list); err != nil && !meta.IsNoMatchError(err) {
			return command.Unreachable(target.cluster, err)
		}
	}
	var all []string
	for i := range migrations.Items {
		all = append(all, "Migration "+migrations.Items[i].Namespace+"/"+migrations.Items[i].Name)
	}
	if err := o.checkMigrations(target, migrations.Items); err != nil {
		return err
	}
	for i := range slices.Items {
		all = append(all, "StatefulSet "+slices.Items[i].Namespace+"/"+slices.Items[i].Name)
	}
	if o.crds && len(all) > 0 {
		return command.Refusedf("cluster %s: deleting the resource definitions would delete these: %s; delete them first, or convert the StatefulSets to apps/v1: %s adopt NAME -n NAMESPACE --to apps",
			target.cluster, strings.Join(all, ", "), o.Program)
	}
	return nil
}

// kept lists the volumes that ordinals have left behind, while the Migrations that name their disks still exist.
func (o *uninstallOptions) kept(ctx context.Context, target *target) error {
	all, err := kept.All(ctx, target.client, target.kubectl)
	if err != nil {
		fmt.Fprintf(target.out, "cluster %s: the volumes that ordinals have left behind are not known: %v\n", target.cluster, err)
		return nil
	}
	for _, line := range kept.Lines(target.cluster, all) {
		fmt.Fprintln(target.out, line)
	}
	if len(all) > 0 {
		fmt.Fprintf(target.out, "they stay; to list them again: %s kept\n", o.Program)
	}
	return nil
}

// checkMigrations refuses while a migration is in progress. It prints how to continue the paused migrations that remain.
func (o *uninstallOptions) checkMigrations(target *target, all []api.Migration) error {
	var running, resting []string
	for i := range all {
		m := &all[i]
		switch name := m.Namespace + "/" + m.Name; {
		case m.Status.Baseline == nil || records.Completed(m) != "":
		case o.paused && records.AtRest(m):
			resting = append(resting, fmt.Sprintf("migration %s is paused, with %d of %d moved; to continue it: %s install, and %s resume %s -n %s\n",
				name, m.Status.Moved, m.Status.Total, o.Program, o.Program, m.Name, m.Namespace))
		default:
			running = append(running, name)
		}
	}
	if len(running) > 0 {
		return command.Refusedf("cluster %s: migrations are in progress: %s; wait until they are completed, or roll them back: %s rollback NAME -n NAMESPACE --wait; or pause them, which starts every ordinal that is down, and then: %s uninstall --paused",
			target.cluster, strings.Join(running, ", "), o.Program, o.Program)
	}
	for _, line := range resting {
		fmt.Fprint(target.out, line)
	}
	return nil
}

func (o *uninstallOptions) remove(ctx context.Context, target *target) error {
	at, err := target.installed(ctx)
	if err != nil {
		return err
	}
	p, err := embedded(cmp.Or(at, *o.Config.Namespace, defaultNamespace), true)
	if err != nil {
		return err
	}
	gone := [][]*unstructured.Unstructured{p.volumes, p.fence, p.authors, p.bounds, p.manager}
	if o.crds {
		gone = append(gone, p.crds)
	}
	for _, objects := range gone {
		if err := target.removeAll(ctx, objects); err != nil {
			return err
		}
	}
	if !o.crds {
		if err := o.leave(ctx, target, p.crds); err != nil {
			return err
		}
	}
	if !o.wait {
		return nil
	}
	return o.awaitGone(ctx, target, p)
}

// leave prints which definitions remain, why, and how to delete them.
func (o *uninstallOptions) leave(ctx context.Context, target *target, crds []*unstructured.Unstructured) error {
	for _, crd := range crds {
		have, err := target.get(ctx, crd)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return target.explain("reading", crd, err)
		}
		target.tally.left++
		kind, _, err := unstructured.NestedString(have.Object, "spec", "names", "kind")
		if err != nil {
			return target.explain("reading", crd, err)
		}
		group, _, err := unstructured.NestedString(have.Object, "spec", "group")
		if err != nil {
			return target.explain("reading", crd, err)
		}
		fmt.Fprintf(target.out, "%s stays: its deletion deletes every %s of %s in the cluster\n", titleOf(have), kind, group)
	}
	if target.tally.left > 0 {
		fmt.Fprintf(target.out, "to delete the resource definitions, too, once none of these exist: %s uninstall --crds\n", o.Program)
	}
	return nil
}

// awaitGone waits for the objects whose deletion takes time: the namespace and the definitions.
func (o *uninstallOptions) awaitGone(ctx context.Context, target *target, p *parts) error {
	namespace := find(p.manager, "Namespace")
	have, err := target.get(ctx, namespace)
	if err == nil && !foreignNamespace(have) {
		if err := target.awaitGone(ctx, namespace); err != nil {
			return err
		}
	}
	if !o.crds {
		return nil
	}
	for _, crd := range p.crds {
		if err := target.awaitGone(ctx, crd); err != nil {
			return err
		}
	}
	return nil
}
