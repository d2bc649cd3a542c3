package move

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/admission"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/migration/outlook"
)

// createOptions are the options of the command create.
type createOptions struct {
	*command.Common
	to   flags.Destination
	spec flags.Spec
	name string
	// sourceSecret and destinationSecret are NAME or NAME/KEY.
	sourceSecret, destinationSecret string
	serviceAccount                  string
	mode                            api.Mode
	dryRun                          command.DryRun
	result                          command.Result

	migration *api.Migration
	// unattended is the result of command.Unattended, and reached holds the flags that select its cluster.
	unattended, reached string
}

const createHelp = `Writes a Migration for a manager to carry out.

The manager reaches a remote cluster with a kubeconfig in a Secret of the Migration's
namespace, and its own cluster as a ServiceAccount of that namespace. Where no manager
is installed, "migrate run" does the same from here. The command warns if no manager runs,
as far as your rights show that.`

const createExamples = `  # From the manager's cluster to the one whose kubeconfig is in Secret west
  migrate create web -n shop --destination-secret west --service-account mover

  # To another namespace of the manager's cluster; begin paused
  migrate create web -n shop --to-namespace store --service-account mover --mode pause

  # Change the storage in place, instead of a move
  migrate create web -n shop --in-place --volume data=class=fast,method=copy,image=IMAGE --service-account mover

  # Between two remote clusters; only show what would be written
  migrate create web -n shop --source-secret east --destination-secret west/kubeconfig --dry-run=client -o yaml`

func newCreate(c *command.Common) *cobra.Command {
	o := &createOptions{Common: c, mode: api.ModeRun}
	cmd := c.Command(o, &cobra.Command{
		Use: "create STATEFULSET", Short: "Write a Migration for a manager to carry out",
		Long: createHelp, Example: createExamples,
	})
	flags := cmd.Flags()
	o.to.AddPlace(flags)
	o.spec.Add(flags)
	flags.StringVar(&o.name, "name", "", "name of the Migration (default: the StatefulSet's)")
	flags.StringVar(&o.sourceSecret, "source-secret", "", "Secret with the kubeconfig of the source's cluster, as `NAME[/KEY]` (default: the manager's cluster; KEY: value)")
	flags.StringVar(&o.destinationSecret, "destination-secret", "", "Secret with the kubeconfig of the destination's cluster, as `NAME[/KEY]` (default: the manager's cluster; KEY: value)")
	flags.StringVar(&o.serviceAccount, "service-account", "", "ServiceAccount under which the manager's cluster is read and written")
	flags.Var(command.ChoiceOf(&o.mode, api.ModeRun, api.ModeRun, api.ModePause), "mode", "begin at once, or wait for migrate resume")
	o.dryRun = command.AddDryRun(flags, "only print")
	o.result = command.AddResult(cmd)
	return cmd
}

// Complete builds the Migration.
func (o *createOptions) Complete(cmd *cobra.Command, args []string) error {
	set, err := command.Argument(cmd, args, "StatefulSet")
	if err != nil {
		return err
	}
	namespace, err := o.Namespace()
	if err != nil {
		return err
	}
	spec, err := specOf(cmd.Context(), &o.spec, set, o.to)
	if err != nil {
		return err
	}
	if nonsense := admission.Sense(spec); nonsense != "" {
		return command.Usagef("this Migration cannot be carried out: %s", nonsense)
	}
	if spec.Source.KubeConfigSecretRef, err = flags.SecretRef("source-secret", o.sourceSecret); err != nil {
		return err
	}
	if spec.Destination.KubeConfigSecretRef, err = flags.SecretRef("destination-secret", o.destinationSecret); err != nil {
		return err
	}
	spec.ServiceAccountName, spec.Mode = o.serviceAccount, o.mode
	if o.name == "" {
		o.name = set
	}
	o.migration = &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.name}, Spec: spec}
	return nil
}

// Validate rejects an invalid Migration.
func (o *createOptions) Validate() error {
	spec, namespace := o.migration.Spec, o.migration.Namespace
	sameName := cmp.Or(spec.Destination.Name, spec.Source.Name) == spec.Source.Name
	sameNamespace := cmp.Or(spec.Destination.Namespace, namespace) == namespace
	if spec.Storage != nil {
		return o.validateInPlace()
	}
	if spec.Source.KubeConfigSecretRef == nil && spec.Destination.KubeConfigSecretRef == nil && sameNamespace && sameName {
		return command.Usagef("source and destination are the same StatefulSet: give --destination-secret, --source-secret, --to-namespace or --to-name")
	}
	return o.result.Validate()
}

// validateInPlace rejects settings that a change in place does not have.
func (o *createOptions) validateInPlace() error {
	if !o.to.Empty() || o.destinationSecret != "" {
		return command.Usagef("--%s changes the StatefulSet where it is: remove --to-namespace, --to-name and --destination-secret", flags.InPlace)
	}
	if o.spec.Given(flags.FromManifest) && (o.dryRun.Client() || o.sourceSecret != "") {
		return command.Usagef("--%s is compared with the running StatefulSet: leave out --dry-run=client and --source-secret, or name each change with --%s", flags.FromManifest, flags.Volume)
	}
	return o.result.Validate()
}

// choose chooses the methods of a change in place: by its claims, if the StatefulSet is in the manager's cluster, or by the
// fields of spec.volumes.
func (o *createOptions) choose(ctx context.Context) error {
	m := o.migration
	if o.dryRun.Client() || o.sourceSecret != "" {
		m.Spec.Volumes = outlook.Choose(outlook.State{Volumes: m.Spec.Volumes})
		return nil
	}
	connection, err := o.Connect()
	if err != nil {
		return err
	}
	return chooseIn(ctx, connection, m, &o.spec)
}

// Run writes the Migration and prints it.
func (o *createOptions) Run(ctx context.Context) error {
	o.spec.Warn(o.Common)
	if o.migration.Spec.Storage != nil {
		if err := o.choose(ctx); err != nil {
			return err
		}
	}
	if !o.dryRun.Client() {
		if err := o.write(ctx); err != nil {
			return err
		}
	}
	shown, err := withoutStatus(o.migration)
	if err != nil {
		return err
	}
	if err := o.PrintResult(o.result, shown, "created"+o.dryRun.Suffix()); err != nil {
		return err
	}
	if o.unattended != "" {
		fmt.Fprintf(o.ErrOut, "warning: %s, so nothing happens with this Migration until one runs: %s; or delete it, and move from here with nothing installed: %s run --help\n",
			o.unattended, o.InstallCommand(o.reached), o.Program)
	}
	return nil
}

// withoutStatus returns a Migration as a user would write it to a file.
func withoutStatus(m *api.Migration) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(exported(m))
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "status")
	if m.Spec.Mode == api.ModeRun { // the default; applying the file again must not reset a later mode
		unstructured.RemoveNestedField(content, "spec", "mode")
	}
	return &unstructured.Unstructured{Object: content}, nil
}

func (o *createOptions) write(ctx context.Context) error {
	connection, err := o.Connect()
	if err != nil {
		return err
	}
	served, err := connection.Serves(ctx, &api.Migration{})
	switch {
	case err != nil:
		return command.Unreachable(connection.Name(), err)
	case !served:
		return fmt.Errorf("cluster %s does not serve %s Migrations: install the manager there first, or use %q, which needs nothing installed", connection.Name(), api.GroupVersion, o.Program+" run")
	}
	err = connection.Live().Create(ctx, o.migration, &client.CreateOptions{DryRun: o.dryRun.OfRequest()})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("migration %s/%s exists already in cluster %s: look at it with %q, or give another --name",
			o.migration.Namespace, o.name, connection.Name(), o.Again("status", o.name, o.migration.Namespace))
	}
	if err != nil {
		return fmt.Errorf("cluster %s: creating Migration %s/%s: %w", connection.Name(), o.migration.Namespace, o.name, err)
	}
	o.unattended, o.reached = command.Unattended(ctx, connection.Live(), connection.Name(), o.Clock.Now()), connection.Flags()
	return nil
}
