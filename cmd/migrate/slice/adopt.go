package slice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// adoptOptions are the options of the command adopt.
type adoptOptions struct {
	named
	to       *command.Choice
	origin   *command.Choice
	dryRun   bool
	manifest string
	timeout  time.Duration

	namespace  string
	from, into schema.GroupVersion
}

const adoptHelp = `Converts a StatefulSet of apps/v1 to one of apps.sliceshift.io, or the other way with
--to apps; with --from kruise, an Advanced StatefulSet of OpenKruise. The pods keep running:
one StatefulSet releases them, their claims and their revisions, and the other adopts them.

It deletes one object without its dependents and creates another one. It checks everything
before: no other controller drives the StatefulSet, no roll-out is in progress, the other
kind can express it, and the API server would accept it. It writes the new object to a
file first. If the creation fails after all, the file stays, and only "kubectl create -f"
is missing. At the end the command waits until the other controller has adopted the pods.

If the StatefulSet is in a repository, change apiVersion there at the same time. Its fields
keep their field managers, so the next apply removes what the repository no longer has.
Change all references to the kind, too, such as the scaleTargetRef of a
HorizontalPodAutoscaler.

Exit codes: 0 done, 1 error, 2 usage, 3 refused, 4 timeout.`

const adoptExamples = `  # Look at what would be created
  migrate adopt web -n shop --dry-run

  # From apps/v1 to apps.sliceshift.io
  migrate adopt web -n shop

  # And back
  migrate adopt web -n shop --to apps

  # From an Advanced StatefulSet of OpenKruise
  migrate adopt web -n shop --from kruise`

// appsGroup is the value of --to for apps/v1.
const appsGroup = "apps"

func newAdopt(c *command.Common) *cobra.Command {
	o := &adoptOptions{
		named: named{Common: c}, to: command.NewChoice(slicesapi.GroupVersion.Group, slicesapi.GroupVersion.Group, appsGroup),
		origin: command.NewChoice(appsGroup, appsGroup, kruiseName),
	}
	cmd := c.Command(o, &cobra.Command{
		Use: "adopt STATEFULSET", Short: "Convert a StatefulSet to the other kind; the pods keep running",
		Long: adoptHelp, Example: adoptExamples,
	})
	flags := cmd.Flags()
	flags.Var(o.to, "to", "API group of the new kind")
	flags.Var(o.origin, "from", "origin of the present kind, unless --to is apps")
	flags.BoolVar(&o.dryRun, "dry-run", false, "check, and print what would be created; change nothing")
	flags.StringVar(&o.manifest, "manifest", "", "`FILE` for the new object, until it is created (default: NAMESPACE-NAME.statefulset.yaml)")
	flags.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait until the old object is deleted, and until the new one has adopted the pods")
	return cmd
}

// Complete reads the name and the direction.
func (o *adoptOptions) Complete(cmd *cobra.Command, args []string) (err error) {
	if err = o.named.Complete(cmd, args); err != nil {
		return err
	}
	if o.namespace, err = o.Namespace(); err != nil {
		return err
	}
	o.from, o.into = appsv1.SchemeGroupVersion, slicesapi.GroupVersion
	switch {
	case o.to.Value == appsGroup:
		o.from, o.into = o.into, o.from
	case o.origin.Value == kruiseName:
		o.from = kruiseVersion
	}
	if o.manifest == "" {
		o.manifest = fmt.Sprintf("%s-%s.statefulset.yaml", o.namespace, o.name)
	}
	return nil
}

// Validate rejects invalid combinations of flags.
func (o *adoptOptions) Validate() error {
	if o.timeout <= 0 {
		return command.Usagef("--timeout must be above 0")
	}
	if o.to.Value == appsGroup && o.origin.Value == kruiseName {
		return command.Usagef("--from kruise is for --to %s only: go on from there with --to apps", slicesapi.GroupVersion.Group)
	}
	return nil
}

// Run checks the object and converts it to the other kind.
func (o *adoptOptions) Run(ctx context.Context) error {
	connection, _, err := connect(ctx, o.Common)
	if err != nil {
		return err
	}
	a := &adoption{adoptOptions: o, connection: connection, live: connection.Live()}
	if err := a.read(ctx); err != nil || a.old == nil {
		return err
	}
	if err := a.check(ctx); err != nil {
		return err
	}
	shown := a.new
	if !o.dryRun {
		shown = a.withManagers()
	}
	data, err := yaml.Marshal(shown.Object)
	if err != nil {
		return err
	}
	if o.dryRun {
		_, err = o.Out.Write(data)
		return err
	}
	return a.carryOut(ctx, data)
}

// adoption is the conversion of one StatefulSet from one kind to the other.
type adoption struct {
	*adoptOptions
	connection *clusters.Connection
	live       client.Client
	old, new   *unstructured.Unstructured
}

func (a *adoption) key() types.NamespacedName {
	return types.NamespacedName{Namespace: a.namespace, Name: a.name}
}

// title returns the name of the object of a kind, for messages.
func (a *adoption) title(version schema.GroupVersion) string {
	return fmt.Sprintf("%s StatefulSet %s", version, a.key())
}

// get reads the object of a kind; it returns nil if there is none.
func (a *adoption) get(ctx context.Context, version schema.GroupVersion) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(version.WithKind("StatefulSet"))
	err := a.live.Get(ctx, a.key(), object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err) && version == kruiseVersion:
		return nil, nil //nolint:nilnil // nil is "there is none"
	case err != nil:
		return nil, command.Unreachable(a.connection.Name(), err)
	}
	return object, nil
}

// read reads both kinds. Afterwards old is nil if there is nothing to do.
func (a *adoption) read(ctx context.Context) error {
	old, err := a.get(ctx, a.from)
	if err != nil {
		return err
	}
	other, err := a.get(ctx, a.into)
	switch {
	case err != nil:
		return err
	case old != nil && other != nil:
		return command.Refusedf("cluster %s has both %s and %s: the owner of the pods is ambiguous; delete the one that owns none, with --cascade=orphan",
			a.connection.Name(), a.title(a.from), a.title(a.into))
	case old == nil && other == nil:
		return a.missing(ctx)
	case old == nil:
		fmt.Fprintf(a.Out, "%s is of %s already\n", a.kubectlName(), a.into)
		return nil
	}
	a.old = old
	a.new, err = convert(old, a.into)
	return err
}

// missing returns the error if there is nothing to adopt. If the manifest of an earlier attempt exists, the remedy is to
// create it.
func (a *adoption) missing(ctx context.Context) error {
	err := fmt.Errorf("no %s in cluster %s", a.title(a.from), a.connection.Name())
	if _, failed := os.Stat(a.manifest); failed == nil {
		return fmt.Errorf("%w, but %s of an earlier try is here: %s; then %s", err, a.manifest, a.kubectl().Do("create", "-f", a.manifest), a.patchManagers())
	}
	if a.from == appsv1.SchemeGroupVersion {
		if found, _ := a.get(ctx, kruiseVersion); found != nil {
			return fmt.Errorf("%w, but one of OpenKruise: repeat the command with --from %s", err, kruiseName)
		}
	}
	return fmt.Errorf("%w; look for it: %s", err, a.kubectl().Do("get", "statefulsets."+a.from.Group, "-A"))
}

func (a *adoption) kubectlName() string { return "statefulset." + a.into.Group + "/" + a.name }

// carryOut deletes the old object without its pods, and creates the new one.
func (a *adoption) carryOut(ctx context.Context, manifest []byte) error {
	if err := writeNew(a.manifest, manifest); err != nil {
		return err
	}
	uid, version := a.old.GetUID(), a.old.GetResourceVersion()
	err := a.live.Delete(ctx, a.old, client.PropagationPolicy(metav1.DeletePropagationOrphan), client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil && !maybeDone(err) {
		_ = os.Remove(a.manifest) // nothing was changed
		if apierrors.IsConflict(err) {
			return fmt.Errorf("cluster %s: %s was changed meanwhile, and nothing was done: look at it, and repeat the command", a.connection.Name(), a.title(a.from))
		}
		return fmt.Errorf("cluster %s: deleting %s: %w", a.connection.Name(), a.title(a.from), err)
	}
	if err := a.awaitGone(ctx, uid); err != nil {
		return err
	}
	created, err := a.create(ctx)
	if err != nil {
		return err
	}
	if err := a.handOver(ctx, created); err != nil {
		a.warnOwned(err)
	} else {
		_ = os.Remove(a.manifest) // all of it is in the cluster now
	}
	if err := a.awaitAdopted(ctx); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s adopted\n", a.kubectlName())
	return nil
}

// writeNew writes a file that must not exist, because it could be the manifest of an earlier attempt.
func writeNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already: look whether it is still needed and move it away, or give another --manifest", path)
	}
	if err != nil {
		return fmt.Errorf("the new object could not be saved, and nothing was done: %w; give another --manifest", err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("the new object could not be saved, and nothing was done: %w; give another --manifest", err)
	}
	return nil
}

// maybeDone reports whether a failed write may have succeeded, because the API server did not reject it.
func maybeDone(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// create creates the object of the other kind, and returns its UID.
func (a *adoption) create(ctx context.Context) (types.UID, error) {
	// Signals are ignored now, because no controller owns the pods.
	ctx = context.WithoutCancel(ctx)
	created := a.new.DeepCopy()
	err := a.live.Create(ctx, created, strict)
	if err == nil {
		return created.GetUID(), nil
	}
	if found, _ := a.get(ctx, a.into); found != nil && !apierrors.IsAlreadyExists(err) {
		return found.GetUID(), nil // the write succeeded, only the answer was lost
	}
	if apierrors.IsAlreadyExists(err) {
		return "", a.unfinished(command.ExitFailure, fmt.Errorf("another client created %s in cluster %s meanwhile: compare it with %s", a.title(a.into), a.connection.Name(), a.manifest), false)
	}
	return "", a.unfinished(command.ExitFailure, fmt.Errorf("cluster %s: creating %s: %w", a.connection.Name(), a.title(a.into), err), true)
}

// kubectl returns the prefix of kubectl commands for the same cluster.
func (a *adoption) kubectl() shell.Kubectl {
	return plan.Kubectl(a.connection.Name(), a.connection.Flags())
}

// unfinished returns an error with the commands that complete the adoption by hand. Until then no controller repairs or
// updates the pods.
func (a *adoption) unfinished(code int, err error, mend bool) error {
	if mend {
		err = fmt.Errorf("%w\nThe pods run, but no controller manages them until the StatefulSet exists again. To restore it, fix the cause, and when the first command finds nothing, run the others:\n  %s\n  %s\n  %s",
			err, a.kubectl().Do("get", "statefulsets."+a.from.Group, a.name, "-n", a.namespace), a.kubectl().Do("create", "-f", a.manifest), a.patchManagers())
	}
	return &command.ExitError{Code: code, Err: err}
}

// strict makes the API server reject unknown fields instead of dropping them.
const strict = client.FieldValidation(metav1.FieldValidationStrict)
