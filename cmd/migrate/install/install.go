// Package install provides the commands that install, update and uninstall the manager in a cluster.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/version"
)

// installOptions are the options of the command install.
type installOptions struct {
	*command.Common
	image          string
	crdsOnly       bool
	authors        bool
	fence          bool
	volumes        bool
	forceConflicts bool
	wait           bool
	timeout        time.Duration
	print          bool
	dryRun, output *command.Choice
	impersonation  *command.Choice

	// namespace is the value of -n; empty if it is not set.
	namespace string
	// asked records which policy flags were set, including --fence=false.
	asked map[string]bool
}

const installHelp = `Installs in a cluster the resource definitions of Migrations, the roles, and the manager
with its namespace, ServiceAccount and Service for metrics.

The namespace is sliceshift-system unless -n sets another one. A cluster can have only
one manager.

Run again, it updates everything and prints what it has changed. It does not overwrite
changes of others, unless --force-conflicts is set.

It can install three groups of admission policies. They need Kubernetes 1.30.
  --check-authors  the author of a Migration must be allowed to impersonate its
                   ServiceAccount and to get its Secrets, and the role of a rehearsal is
                   bound in its namespaces only; on, unless it is set to false or with
                   --crds-only
  --fence          only a migration scales what the migration holds: not kubectl
                   scale, an autoscaler or a GitOps tool
  --guard-volumes  movers that ConfigMaps name write only the PersistentVolumes and
                   VolumeSnapshotContents that the ConfigMaps allow: docs/security.md
Set to false, a flag removes its policies; without the flag the last two do not change. A
cluster that a manager reaches from outside gets them with --crds-only.

The manager may do only what moves need as the ServiceAccount that a Migration names, if
the API server supports such limits (--impersonation=auto, Kubernetes 1.36).

"migrate run" needs nothing of this.

Exit codes: 0 done, 1 error, 2 usage, 3 refused, 4 timeout.`

const installExamples = `  # Install, or update, and wait until it runs
  migrate install --context east --image registry.example.com/sliceshift-manager:v1

  # Print what would be applied, or let another tool apply it; no cluster is contacted
  migrate install --image registry.example.com/sliceshift-manager:v1 --print >install.yaml

  # Reject other scaling during a move
  migrate install --context east --image registry.example.com/sliceshift-manager:v1 --fence

  # The same, and limits for movers, in a cluster that is only a destination
  migrate install --context west --crds-only --fence --guard-volumes`

// installTimeout is how long an installation or its removal may take.
const installTimeout = 5 * time.Minute

func newInstall(c *command.Common) *cobra.Command { return newInstallOf(&installOptions{Common: c}) }

func newInstallOf(o *installOptions) *cobra.Command {
	o.dryRun, o.output = command.NewChoice("none", "none", "client"), command.NewChoice("", "json", "yaml")
	o.impersonation = command.NewChoice(automatic, automatic, constrained, legacy)
	cmd := o.Command(o, &cobra.Command{
		Use: "install", Short: "Put the manager and its resource definitions into a cluster",
		Long: installHelp, Example: installExamples,
	})
	flags := cmd.Flags()
	flags.StringVar(&o.image, "image", "", "image of the manager (default: the one that is installed"+ofBuild()+")")
	flags.BoolVar(&o.crdsOnly, "crds-only", false, "only the resource definitions")
	flags.BoolVar(&o.authors, authorsFlag, true, "reject a Migration whose author may not use its ServiceAccount and Secrets, and bindings of the role of a rehearsal outside of it; false: remove the policies")
	flags.BoolVar(&o.fence, fenceFlag, false, "let only a migration scale what the migration holds; false: remove the policy")
	flags.BoolVar(&o.volumes, volumesFlag, false, "limit the volumes of movers that ConfigMaps name; false: remove the policy")
	flags.Var(o.impersonation, impersonationFlag, "rights of the manager as an impersonated account: those that moves need (constrained, Kubernetes 1.36), or all of the account (legacy); auto: constrained if the cluster supports it; --print: legacy")
	flags.BoolVar(&o.forceConflicts, "force-conflicts", false, "overwrite what others have changed")
	flags.BoolVar(&o.wait, "wait", true, "wait until the manager runs")
	flags.DurationVar(&o.timeout, "timeout", installTimeout, "how long it may take")
	flags.BoolVar(&o.print, "print", false, "print the manifests, and change nothing")
	flags.Var(o.dryRun, "dry-run", "client: the same as --print, in kubectl's words")
	flags.Lookup("dry-run").NoOptDefVal = "client"
	flags.VarP(o.output, "output", "o", "format of what --print prints (default: yaml)")
	return cmd
}

// ofBuild returns the help text with the image of this build, if it has one.
func ofBuild() string {
	if version.Image == "" {
		return ""
	}
	return ", or " + version.Image
}

// Complete reads the flags without a variable. It ignores the namespace of the context, which is that of the user's
// applications and not of the manager.
func (o *installOptions) Complete(cmd *cobra.Command, args []string) error {
	o.namespace = *o.Config.Namespace
	o.asked = map[string]bool{}
	for _, flag := range []string{authorsFlag, fenceFlag, volumesFlag} {
		o.asked[flag] = cmd.Flags().Changed(flag)
	}
	return o.Common.Complete(cmd, args)
}

// Validate rejects invalid combinations of flags.
func (o *installOptions) Validate() error {
	switch {
	case o.timeout <= 0:
		return command.Usagef("--timeout must be above 0")
	case o.output.Value != "" && !o.prints():
		return command.Usagef("--output is for --print")
	case o.crdsOnly && o.image != "":
		return command.Usagef("--image is for the manager, which --crds-only leaves out")
	case o.prints() && !o.crdsOnly && cmp.Or(o.image, version.Image) == "":
		return command.Usagef("this build knows no image of the manager that a cluster could pull: give --image")
	}
	return nil
}

// Run installs.
func (o *installOptions) Run(ctx context.Context) error {
	if o.prints() {
		return o.printManifests()
	}
	return carryOut(ctx, o.Common, o.timeout, o.apply)
}

// prints reports whether manifests are printed instead of applied.
func (o *installOptions) prints() bool { return o.print || o.dryRun.Value == "client" }

// printManifests prints the manifests of a new installation.
func (o *installOptions) printManifests() error {
	bounded := o.impersonation.Value == constrained
	o.image = cmp.Or(o.image, version.Image)
	p, err := o.parts("", bounded)
	if err != nil {
		return err
	}
	objects := slices.Concat(p.crds, p.manager)
	if bounded {
		objects = append(objects, p.bounds...)
	}
	for _, policy := range o.policies(p) {
		if policy.want == applied {
			objects = append(objects, policy.objects...)
		}
	}
	return printObjects(o.Out, o.output.Value, objects)
}

func (o *installOptions) apply(ctx context.Context, target *target) error {
	at, err := target.installed(ctx)
	if err != nil {
		return err
	}
	if at != "" && o.namespace != "" && at != o.namespace && !o.crdsOnly {
		return command.Refusedf("cluster %s has a manager in namespace %s already, and two would act on the same Migrations: leave out --namespace to update it, or remove it first: %s uninstall",
			target.cluster, at, o.Program)
	}
	bounded, err := o.constrains(ctx, target)
	if err != nil {
		return err
	}
	p, err := o.parts(at, bounded)
	if err != nil {
		return err
	}
	if !o.crdsOnly && o.image == "" {
		if err := target.keepImage(ctx, p); err != nil {
			return err
		}
	}
	return o.applyParts(ctx, target, p, bounded)
}

// applyParts applies the resource definitions first, because the policies refer to them.
func (o *installOptions) applyParts(ctx context.Context, target *target, p *parts, bounded bool) error {
	target.force = o.forceConflicts
	if err := target.applyAll(ctx, p.crds); err != nil {
		return err
	}
	if err := target.awaitEstablished(ctx, p.crds); err != nil {
		return err
	}
	if err := o.applyManager(ctx, target, p, bounded); err != nil {
		return err
	}
	for _, policy := range o.policies(p) {
		if err := policy.settle(ctx, target); err != nil {
			return err
		}
	}
	if deployment := p.deployment(); deployment != nil && o.wait {
		return target.awaitAvailable(ctx, deployment)
	}
	return nil
}

// keepImage sets the installed image in the manifests, so that an update without --image keeps it.
func (t *target) keepImage(ctx context.Context, p *parts) error {
	deployment := p.deployment()
	have, err := t.get(ctx, deployment)
	switch {
	case apierrors.IsNotFound(err) && version.Image == "":
		return command.Usagef("cluster %s has no manager yet, and this build knows no image of it that a cluster could pull: give --image", t.cluster)
	case apierrors.IsNotFound(err):
		return setImage(deployment, version.Image)
	case err != nil:
		return command.Unreachable(t.cluster, err)
	}
	image, err := imageOf(have)
	if err != nil {
		return errors.Join(fmt.Errorf("cluster %s: %s has no image; set --image", t.cluster, titleOf(deployment)), err)
	}
	return setImage(deployment, image)
}

// Commands returns the commands that install and uninstall the manager.
func Commands(c *command.Common) []*cobra.Command {
	return command.In(command.Installing, newInstall(c), newUninstall(c))
}
