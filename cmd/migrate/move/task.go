package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/admission"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/look"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/outlook"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// moveOptions are the options that plan and run share: which StatefulSet moves, where to, and how.
type moveOptions struct {
	*command.Common
	to        flags.Destination
	spec      flags.Spec
	set       string
	namespace string
	// resume is the UID of the migration whose lost record will be rebuilt, or empty.
	resume    string
	requested *api.Migration
}

// Complete sets defaults.
func (o *moveOptions) Complete(cmd *cobra.Command, args []string) (err error) {
	if o.set, err = command.Argument(cmd, args, "StatefulSet"); err != nil {
		return err
	}
	if o.namespace, err = o.Namespace(); err != nil {
		return err
	}
	to := o.to
	if to.Namespace == "" {
		to.Namespace = o.namespace
	}
	if to.Name == "" {
		to.Name = o.set
	}
	spec, err := specOf(cmd.Context(), &o.spec, o.set, to)
	if err != nil {
		return err
	}
	o.requested = &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.set}, Spec: spec}
	return nil
}

// specOf returns the spec of the flags. It rejects one that is not valid in a Migration: files and recipes that flags name
// may contain anything.
func specOf(ctx context.Context, f *flags.Spec, set string, to flags.Destination) (api.MigrationSpec, error) {
	spec, err := f.Spec(set, to)
	if err == nil {
		checked := spec
		if spec.Storage != nil {
			checked.Volumes = outlook.Choose(outlook.State{Volumes: spec.Volumes}) // as far as is known without the claims
		}
		err = admission.Spec(ctx, checked)
	}
	if refused, is := errors.AsType[admission.Refused](err); is {
		return spec, command.Usagef("these settings make no valid Migration:\n%s", refused.Text(f.Origin))
	}
	return spec, err
}

// Validate rejects invalid combinations of flags.
func (o *moveOptions) Validate() error {
	if o.inPlace() {
		return o.validateInPlace()
	}
	if o.to.Empty() {
		return command.Usagef("no destination is given: set --to-context, --to-kubeconfig, --to-namespace or --to-name")
	}
	return nil
}

// task is the move of one StatefulSet by this process.
type task struct {
	source, destination *clusters.Connection
	store               records.ConfigMap
	// requested is the migration of the flags, and recorded the record of an earlier run, or nil.
	requested, recorded *api.Migration
	spec                *flags.Spec
	// back is the command that moves the application back.
	back string
	// resume is the UID of the migration whose record will be rebuilt, or empty.
	resume types.UID
}

// kubectl returns the prefix of kubectl commands for the source's cluster, which stores the record.
func (t *task) kubectl() shell.Kubectl { return plan.Kubectl(t.source.Name(), t.source.Flags()) }

// begin opens the move, and returns its migration and state.
func (o *moveOptions) begin(ctx context.Context, wrap func(*rest.Config)) (t *task, m *api.Migration, stands preview.Standing, err error) {
	if t, err = o.open(ctx, wrap); err != nil {
		return nil, nil, stands, err
	}
	m, stands, err = t.resolve(ctx)
	return t, m, stands, err
}

// open connects to both clusters and reads the record of an earlier run.
func (o *moveOptions) open(ctx context.Context, wrap func(*rest.Config)) (*task, error) {
	t, err := o.connect(wrap)
	if err != nil {
		return nil, err
	}
	o.spec.Warn(o.Common)
	t.store = records.ConfigMap{Client: t.source.Live(), Namespace: o.namespace, Name: o.set}
	if err := t.load(ctx); err != nil {
		return nil, err
	}
	o.hintName(ctx, t)
	id, err := t.destination.ID(ctx)
	if err != nil {
		return nil, command.Unreachable(t.destination.Name(), err)
	}
	if o.inPlace() {
		err = o.choose(ctx, t)
	} else {
		err = o.chooseTransport(ctx, t, id)
	}
	if err != nil {
		return nil, err
	}
	o.requested.Annotations = map[string]string{
		records.DestinationAnnotationKey: string(id), records.DestinationNameAnnotationKey: t.destination.Name(),
	}
	return t, nil
}

// connect connects to both clusters. It sends no request.
func (o *moveOptions) connect(wrap func(*rest.Config)) (*task, error) {
	from, err := o.Source()
	if err != nil {
		return nil, err
	}
	to, err := o.to.Endpoint(o.Common)
	if err != nil {
		return nil, err
	}
	command.Distinguish(&from, &to)
	t := &task{requested: o.requested, spec: &o.spec, back: o.Again("rollback", o.set, o.namespace), resume: types.UID(o.resume)}
	if t.source, err = from.Connect(wrap); err != nil {
		return nil, err
	}
	t.destination = t.source
	if o.to.Kubeconfig != "" || o.to.Context != "" {
		if t.destination, err = to.Connect(wrap); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// hintName suggests a similar name if the StatefulSet does not exist. The checks report the error itself.
func (o *moveOptions) hintName(ctx context.Context, t *task) {
	set := &unstructured.Unstructured{}
	set.SetGroupVersionKind(schema.FromAPIVersionAndKind(o.requested.Spec.Source.APIVersion, "StatefulSet"))
	if t.recorded != nil || !apierrors.IsNotFound(t.source.Live().Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: o.set}, set)) {
		return
	}
	if meant := command.DidYouMean(o.set, command.NamesIn(ctx, t.source.Live(), set.GroupVersionKind(), o.namespace)); meant != "" {
		fmt.Fprintf(o.ErrOut, "no StatefulSet %s/%s in cluster %s%s\n", o.namespace, o.set, t.source.Name(), meant)
	}
}

// chooseTransport sets transport Relay for copies between two clusters without a configured transport, with a warning.
func (o *moveOptions) chooseTransport(ctx context.Context, t *task, destination types.UID) error {
	if !slices.ContainsFunc(o.requested.Spec.Volumes, unsaid) {
		return nil
	}
	source, err := t.source.ID(ctx)
	if err != nil {
		return command.Unreachable(t.source.Name(), err)
	}
	if source == destination {
		return nil
	}
	if templates := relay(o.requested.Spec.Volumes); len(templates) > 0 {
		fmt.Fprintln(o.ErrOut, "warning: "+relayed(templates, t.source.Name(), t.destination.Name()))
	}
	return nil
}

func (t *task) load(ctx context.Context) error {
	recorded, err := t.store.Load(ctx)
	var malformed *records.NotAMigrationError
	switch {
	case errors.As(err, &malformed):
		return distrust(t.store, t.source.Name(), t.kubectl(), malformed.Cause.Error())
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("cluster %s: the record of an earlier run cannot be read: %w; bind the ClusterRole sliceshift-mover", t.source.Name(), err)
	case err != nil:
		return command.Unreachable(t.source.Name(), err)
	}
	t.recorded = recorded
	return nil
}

// verify observes both sides, and rejects a record that does not match them.
func (t *task) verify(ctx context.Context, m *api.Migration) error {
	snapshot, err := t.observe(ctx, m)
	if err != nil {
		return err
	}
	return verify(t.store, m, snapshot)
}

// observe observes both sides and writes nothing.
func (t *task) observe(ctx context.Context, m *api.Migration) (plan.Snapshot, error) {
	return look.Both(ctx, t.source, t.destination, t.store, m)
}

// relay sets transport Relay for copies without a configured connection between the clusters, because this process can
// reach both. It returns their claim templates.
func relay(volumes []api.VolumeSpec) []string {
	var templates []string
	for i := range volumes {
		if unsaid(volumes[i]) {
			volumes[i].Copy.Transport = api.TransportRelay
			templates = append(templates, volumes[i].ClaimTemplate)
		}
	}
	return templates
}

// unsaid reports whether a volume is copied without a configured connection between the clusters.
func unsaid(v api.VolumeSpec) bool {
	auto := v.Copy.Transport == "" || v.Copy.Transport == api.TransportAuto
	return v.Method == api.MethodCopy && auto && v.Copy.ServiceType == "" && v.Copy.Address == ""
}

// relayed returns the warning that templates are relayed, and why.
func relayed(templates []string, source, destination string) string {
	return fmt.Sprintf("the copy of %s goes through this process (transport=relay): no setting says how pods of cluster %s reach those of cluster %s. If they do, a direct copy is faster: --volume TEMPLATE=copy,...,service=load-balancer, node-port, or, in one network, cluster-ip",
		strings.Join(templates, ", "), source, destination)
}
