package move

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// createOptions are those of the command create.
type createOptions struct {
	*command.Common
	to   flags.Destination
	spec flags.Spec
	name string
	// sourceSecret and destinationSecret are NAME or NAME/KEY.
	sourceSecret, destinationSecret string
	serviceAccount                  string
	mode                            *command.Choice
	dryRun                          command.DryRun
	result                          command.Result

	migration *api.Migration
}

const createHelp = `Writes a Migration for a manager to carry out.

The manager reaches a remote cluster with a kubeconfig in a Secret of the Migration's
namespace, and its own cluster as a ServiceAccount of that namespace. Where no manager
is installed, "migrate run" does the same from here.`

const createExamples = `  # From the manager's cluster to the one whose kubeconfig is in Secret west
  migrate create web -n shop --destination-secret west --service-account mover

  # To another namespace of the manager's cluster; begin paused
  migrate create web -n shop --to-namespace store --service-account mover --mode pause

  # Between two remote clusters; only show what would be written
  migrate create web -n shop --source-secret east --destination-secret west/kubeconfig --dry-run=client -o yaml`

func newCreate(c *command.Common) *cobra.Command {
	o := &createOptions{Common: c, mode: command.NewChoice("run", "run", "pause")}
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
	flags.Var(o.mode, "mode", "begin at once, or wait for migrate resume")
	o.dryRun = command.AddDryRun(flags, "only print")
	o.result = command.AddResult(cmd)
	return cmd
}

// Complete makes the Migration.
func (o *createOptions) Complete(cmd *cobra.Command, args []string) error {
	set, err := command.Argument(cmd, args, "StatefulSet")
	if err != nil {
		return err
	}
	namespace, err := o.Namespace()
	if err != nil {
		return err
	}
	spec, err := o.spec.Spec(set, o.to)
	if err != nil {
		return err
	}
	if err := admitted(cmd.Context(), spec); err != nil {
		return err
	}
	if spec.Source.KubeConfigSecretRef, err = secretRef("source-secret", o.sourceSecret); err != nil {
		return err
	}
	if spec.Destination.KubeConfigSecretRef, err = secretRef("destination-secret", o.destinationSecret); err != nil {
		return err
	}
	spec.ServiceAccountName = o.serviceAccount
	if o.mode.Value == "pause" {
		spec.Mode = api.ModePause
	}
	if o.name == "" {
		o.name = set
	}
	o.migration = &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.name}, Spec: spec}
	return nil
}

// secretRef reads NAME or NAME/KEY.
func secretRef(flag, text string) (*api.SecretKeyReference, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil is the API's "the cluster that holds this object"
	}
	name, key, found := strings.Cut(text, "/")
	if !found {
		key = "value"
	}
	if name == "" || key == "" || strings.Contains(key, "/") {
		return nil, command.Usagef("--%s must be NAME or NAME/KEY, not %q", flag, text)
	}
	return &api.SecretKeyReference{Name: name, Key: key}, nil
}

// Validate refuses what cannot be meant.
func (o *createOptions) Validate() error {
	spec, namespace := o.migration.Spec, o.migration.Namespace
	sameName := cmp.Or(spec.Destination.Name, spec.Source.Name) == spec.Source.Name
	sameNamespace := cmp.Or(spec.Destination.Namespace, namespace) == namespace
	if spec.Source.KubeConfigSecretRef == nil && spec.Destination.KubeConfigSecretRef == nil && sameNamespace && sameName {
		return command.Usagef("source and destination are the same StatefulSet: give --destination-secret, --source-secret, --to-namespace or --to-name")
	}
	return o.result.Validate()
}

// Run writes the Migration and prints it.
func (o *createOptions) Run(ctx context.Context) error {
	o.spec.Warn(o.Common)
	if !o.dryRun.Client() {
		if err := o.write(ctx); err != nil {
			return err
		}
	}
	shown, err := withoutStatus(o.migration)
	if err != nil {
		return err
	}
	return o.PrintResult(o.result, shown, "created"+o.dryRun.Suffix())
}

// withoutStatus is a Migration as a person would write it into a file.
func withoutStatus(m *api.Migration) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(exported(m))
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "status")
	if m.Spec.Mode == api.ModeRun { // the default, and for its user and the migration itself to change, not for who applies the file again
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
	return nil
}
