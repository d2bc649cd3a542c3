package install

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// installOwner is the field manager of installed objects. It differs from that of migrations, so that an installation
// does not own the fields that a migration changes.
const installOwner = "sliceshift-install"

// target is the cluster of an installation or removal.
type target struct {
	cluster string
	// kubectl is the prefix of kubectl commands for this cluster.
	kubectl shell.Kubectl
	client  client.Client
	// version returns the version of the API server.
	version func(context.Context) (string, error)
	out     io.Writer
	clock   clock.WithTicker
	timeout time.Duration
	// force overwrites fields that other managers have changed.
	force bool
	tally tally
}

// connect connects to the cluster of the flags.
func connect(c *command.Common, timeout time.Duration) (*target, error) {
	connection, err := c.Connect()
	if err != nil {
		return nil, err
	}
	return &target{cluster: connection.Name(), kubectl: plan.Kubectl(connection.Name(), connection.Flags()), client: connection.Live(), version: connection.Version, out: c.Out, clock: c.Clock, timeout: timeout}, nil
}

// carryOut runs steps in the cluster of the flags, all within the timeout, and prints a summary.
func carryOut(ctx context.Context, c *command.Common, timeout time.Duration, steps ...func(context.Context, *target) error) error {
	t, err := connect(c, timeout)
	if err != nil {
		return err
	}
	ctx, cancel := t.within(ctx)
	defer cancel()
	for _, step := range steps {
		if err := step(ctx, t); err != nil {
			return command.Ended(ctx, err)
		}
	}
	fmt.Fprintf(c.Out, "cluster %s: %s\n", t.cluster, t.tally)
	return nil
}

// tally counts the changes.
type tally struct {
	created, changed, unchanged, deleted int
	// left counts the objects that remain although the rest is deleted.
	left int
}

// String returns the counts in one line.
func (n tally) String() string {
	var words []string
	for _, each := range []struct {
		count int
		done  string
	}{{n.created, "created"}, {n.changed, "changed"}, {n.deleted, "deleted"}, {n.left, "left"}} {
		if each.count > 0 {
			words = append(words, fmt.Sprintf("%d %s", each.count, each.done))
		}
	}
	if len(words) == 0 {
		return "nothing to do"
	}
	if n.unchanged > 0 {
		words = append(words, fmt.Sprintf("%d unchanged", n.unchanged))
	}
	return strings.Join(words, ", ")
}

// get reads the object from the cluster.
func (t *target) get(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(object.GroupVersionKind())
	return have, t.client.Get(ctx, client.ObjectKeyFromObject(object), have)
}

// installed returns the namespace of the manager in the cluster, or an empty string. It reads the namespace from the
// binding of the manager's account.
func (t *target) installed(ctx context.Context) (string, error) {
	binding := &unstructured.Unstructured{}
	binding.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"))
	binding.SetName("sliceshift-manager")
	binding, err := t.get(ctx, binding)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", t.explain("reading", binding, err)
	}
	subjects, _, err := unstructured.NestedSlice(binding.Object, "subjects")
	if err != nil || len(subjects) == 0 {
		return "", err
	}
	subject, _ := subjects[0].(map[string]any)
	namespace, _, err := unstructured.NestedString(subject, "namespace")
	return namespace, err
}

// applyAll applies objects in order.
func (t *target) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := t.apply(ctx, object.DeepCopy()); err != nil {
			return err
		}
	}
	return nil
}

// apply applies one object by server-side apply, and shows the changes.
func (t *target) apply(ctx context.Context, object *unstructured.Unstructured) error {
	before, err := t.get(ctx, object)
	exists := err == nil
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return t.explain("reading", object, err)
	case exists && foreignNamespace(before):
		return nil
	}
	options := []client.ApplyOption{client.FieldOwner(installOwner)}
	if t.force {
		options = append(options, client.ForceOwnership)
	}
	if err := t.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
		return t.explain("applying", object, err)
	}
	t.report(object, before, exists)
	return nil
}

// foreignNamespace reports whether a namespace was not created by an installation. Such a namespace is used, but neither
// labelled nor deleted.
func foreignNamespace(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Namespace" && object.GetLabels()["app.kubernetes.io/name"] != "sliceshift"
}

// report prints the change of an object.
func (t *target) report(after, before *unstructured.Unstructured, exists bool) {
	paths := changes(before.Object, after.Object)
	switch {
	case !exists:
		t.tally.created++
		fmt.Fprintf(t.out, "%s created\n", titleOf(after))
	case len(paths) == 0:
		t.tally.unchanged++
		fmt.Fprintf(t.out, "%s unchanged\n", titleOf(after))
	default:
		t.tally.changed++
		fmt.Fprintf(t.out, "%s changed\n", titleOf(after))
		for _, path := range paths {
			fmt.Fprintf(t.out, "  %s\n", path)
		}
	}
}

// removeAll deletes objects in reverse order.
func (t *target) removeAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range slices.Backward(objects) {
		if err := t.remove(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object if it exists.
func (t *target) remove(ctx context.Context, object *unstructured.Unstructured) error {
	have, err := t.get(ctx, object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return t.explain("reading", object, err)
	case foreignNamespace(have):
		fmt.Fprintf(t.out, "%s stays: it was not made by the installation\n", titleOf(have))
		return nil
	}
	uid := have.GetUID()
	err = t.client.Delete(ctx, have, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return t.explain("deleting", object, err)
	}
	t.tally.deleted++
	fmt.Fprintf(t.out, "%s deleted\n", titleOf(have))
	return nil
}

// explain returns an error for an object, with a remedy.
func (t *target) explain(doing string, object *unstructured.Unstructured, err error) error {
	where := fmt.Sprintf("cluster %s: %s %s", t.cluster, doing, titleOf(object))
	switch {
	case meta.IsNoMatchError(err) && strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy"):
		return fmt.Errorf("%s: %w; admission policies need Kubernetes 1.30 or newer: leave out --fence, --guard-volumes and --check-authors", where, err)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%s: %w; --force-conflicts overwrites what others have changed", where, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w; who installs needs the rights of the ClusterRole cluster-admin", where, err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return fmt.Errorf("%s: %w", where, err)
	}
	return fmt.Errorf("%s: %w; check that it runs and that the kubeconfig is right", where, err)
}
