package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// Store is where revisions are kept.
type Store struct {
	// Client lists, from a cache if it has one, and writes.
	Client client.Client
	// Live reads past every cache. It is asked before something is adopted, and when a
	// name is taken.
	Live client.Reader
}

// Result is what a reconciler needs to know of the history.
type Result struct {
	// Current is what pods below the partition have, Update what the others are to have.
	// Neither is nil.
	Current, Update *appsv1.ControllerRevision
	// Owned are all revisions of the set, as they were before this pass.
	Owned []*appsv1.ControllerRevision
	// CollisionCount is to be written to the status.
	CollisionCount int32
	// Relabel leads from the revision in a pod's label to the one of the same meaning that
	// the label shall name. Such a pod needs no restart.
	Relabel map[string]string
}

// Sync brings the history of a set up to date: it takes over revisions without an
// owner, makes or renumbers the one of the template, and deletes those that nobody
// needs. pods are the revisions that the labels of the set's pods name. The set's
// status is read, not written. Nothing is written when the history is up to date, or
// for a set that is being deleted.
//
// It may be repeated after any error. An error beside a Result with an Update is of writes
// that nothing waits for, such as the deletion of an old revision: the Result holds, and the
// next Sync tries them again.
func (s Store) Sync(ctx context.Context, set *api.StatefulSet, pods []string) (Result, error) {
	p := &pass{Store: s, set: set}
	p.alive = sync.OnceValue(func() error { return p.recheck(ctx) })
	owned, err := p.owned(ctx, pods)
	if err != nil {
		return Result{}, err
	}
	d, err := Decide(State{Set: set, Revisions: owned, Pods: pods})
	if err != nil {
		return Result{}, err
	}
	result := Result{Current: d.Current, Update: d.Update, Owned: owned, CollisionCount: collisions(set), Relabel: d.Relabel}
	if set.DeletionTimestamp != nil {
		return result, nil
	}
	recorded, err := p.record(ctx, d, &result.CollisionCount)
	switch {
	case err == nil:
		result.Update = recorded
	case d.Create:
		return Result{}, err
	default: // its number is for people
		p.postpone(err)
	}
	if d.Current == d.Update {
		result.Current = result.Update
	}
	for _, revision := range d.Prune {
		p.postpone(p.prune(ctx, revision))
	}
	return result, errors.Join(p.postponed...)
}

// postpone leaves a write that has failed to the next pass: pods are not to wait for it.
func (p *pass) postpone(err error) {
	if err != nil {
		p.postponed = append(p.postponed, err)
	}
}

// pass is one Sync of one set.
type pass struct {
	Store
	set *api.StatefulSet
	// alive fails unless the set still exists as the cache knows it.
	alive func() error
	// postponed are the errors of writes that nothing waits for.
	postponed []error
}

// recheck asks whether the set is still there and may own something: the cache may be
// behind its deletion.
func (p *pass) recheck(ctx context.Context) error {
	var live api.StatefulSet
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.set), &live)
	switch {
	case err != nil:
		return fmt.Errorf("reading StatefulSet %s/%s before it takes over a revision: %w", p.set.Namespace, p.set.Name, err)
	case live.UID != p.set.UID:
		return fmt.Errorf("StatefulSet %s/%s was made anew (UID %s, not %s): nothing is taken over for the former one", p.set.Namespace, p.set.Name, live.UID, p.set.UID)
	case live.DeletionTimestamp != nil:
		return fmt.Errorf("StatefulSet %s/%s is being deleted: it takes over no revision", p.set.Namespace, p.set.Name)
	}
	return nil
}

// owned are the set's revisions. One without an owner that the selector matches is
// taken over; one that the selector no longer matches is let go, unless a pod could
// not be made anew without it. One that is being deleted counts as gone.
func (p *pass) owned(ctx context.Context, pods []string) ([]*appsv1.ControllerRevision, error) {
	selector, err := metav1.LabelSelectorAsSelector(p.set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("the selector of StatefulSet %s/%s cannot be read: %w; correct spec.selector", p.set.Namespace, p.set.Name, err)
	}
	var all appsv1.ControllerRevisionList
	// Most of a namespace's revisions are another's: they are not worth a copy.
	if err := p.Client.List(ctx, &all, client.InNamespace(p.set.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of namespace %s: %w", p.set.Namespace, advised(err))
	}
	var owned []*appsv1.ControllerRevision
	for i := range all.Items {
		revision, err := p.claim(ctx, &all.Items[i], selector, pods)
		if err != nil {
			return nil, err
		}
		if revision != nil {
			owned = append(owned, revision)
		}
	}
	return owned, nil
}

// claim is a copy of a revision when it is the set's, or becomes so.
func (p *pass) claim(ctx context.Context, revision *appsv1.ControllerRevision, selector labels.Selector, pods []string) (*appsv1.ControllerRevision, error) {
	if revision.DeletionTimestamp != nil {
		return nil, nil //nolint:nilnil // nil is "not the set's"
	}
	needed := p.set.DeletionTimestamp != nil || revision.Name == p.set.Status.CurrentRevision || slices.Contains(pods, revision.Name)
	switch p.relation(revision, selector) {
	case orphan:
		if p.set.DeletionTimestamp == nil {
			return p.claimOrphan(ctx, revision.DeepCopy(), needed)
		}
	case strayed:
		if !needed {
			p.postpone(p.release(ctx, revision.DeepCopy()))
			break
		}
		return revision.DeepCopy(), nil
	case own:
		return revision.DeepCopy(), nil
	case foreign:
	}
	return nil, nil //nolint:nilnil // nil is "not the set's"
}

// claimOrphan takes over a revision. One that neither the status nor a pod names, and that is not
// the template's, can wait.
func (p *pass) claimOrphan(ctx context.Context, revision *appsv1.ControllerRevision, needed bool) (*appsv1.ControllerRevision, error) {
	if err := p.alive(); err != nil {
		return nil, err
	}
	adopted, err := p.adopt(ctx, revision)
	if needed || Matches(p.set, revision) {
		return adopted, err
	}
	p.postpone(err)
	return adopted, nil
}

// relation is what a revision is to a set.
type relation int

const (
	foreign relation = iota
	// orphan has no controller, and has the labels of the set's selector.
	orphan
	// own is controlled by the set and has the labels of its selector.
	own
	// strayed is controlled by the set and has other labels.
	strayed
)

func (p *pass) relation(revision *appsv1.ControllerRevision, selector labels.Selector) relation {
	owner, matches := metav1.GetControllerOfNoCopy(revision), selector.Matches(labels.Set(revision.Labels))
	switch {
	case owner == nil && matches && !selector.Empty():
		return orphan
	case owner == nil || owner.UID != p.set.UID:
		return foreign
	case matches:
		return own
	default:
		return strayed
	}
}

// adopt makes the set the controller of a revision that has none. A plain owner
// reference of the set becomes that of a controller.
func (p *pass) adopt(ctx context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	if err := p.alive(); err != nil {
		return nil, err
	}
	refs := append(p.otherOwners(revision), *metav1.NewControllerRef(p.set, Kind))
	return p.patch(ctx, revision, "taking over", func(next *appsv1.ControllerRevision) { next.OwnerReferences = refs })
}

// release takes the set's owner reference off a revision.
func (p *pass) release(ctx context.Context, revision *appsv1.ControllerRevision) error {
	refs := p.otherOwners(revision)
	_, err := p.patch(ctx, revision, "letting go of", func(next *appsv1.ControllerRevision) { next.OwnerReferences = refs })
	return client.IgnoreNotFound(err)
}

func (p *pass) otherOwners(revision *appsv1.ControllerRevision) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(revision.OwnerReferences), func(ref metav1.OwnerReference) bool { return ref.UID == p.set.UID })
}

// record makes the update revision be there with its number and its claims.
func (p *pass) record(ctx context.Context, d Decision, collisions *int32) (*appsv1.ControllerRevision, error) {
	switch {
	case d.Create:
		return p.create(ctx, d.Update, collisions)
	case d.Update.Revision == d.Number && d.Claims == "":
		return d.Update, nil
	}
	return p.patch(ctx, d.Update, "renumbering", func(next *appsv1.ControllerRevision) {
		next.Revision = d.Number
		if d.Claims != "" {
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, ClaimsAnnotationKey, d.Claims)
		}
	})
}

// create makes a revision, under another name while the name is taken by another
// content.
func (p *pass) create(ctx context.Context, wanted *appsv1.ControllerRevision, collisions *int32) (*appsv1.ControllerRevision, error) {
	want, err := contentOf(p.set)
	if err != nil {
		return nil, err
	}
	for {
		err := p.Client.Create(ctx, wanted)
		if err == nil {
			return wanted, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating ControllerRevision %s/%s: %w", wanted.Namespace, wanted.Name, advised(err))
		}
		if found, err := p.taken(ctx, wanted.Name, want); found != nil || err != nil {
			return found, err
		}
		*collisions++
		wanted = revisionFor(p.set, want, wanted.Revision, *collisions)
	}
}

// taken is the revision under a name that is taken, when it can be used: the cache had
// not seen it. It is nil when it is another's, or another content.
func (p *pass) taken(ctx context.Context, name string, want content) (*appsv1.ControllerRevision, error) {
	var found appsv1.ControllerRevision
	if err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.set.Namespace, Name: name}, &found); err != nil {
		return nil, fmt.Errorf("reading ControllerRevision %s/%s, whose name is taken: %w", p.set.Namespace, name, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(p.set.Spec.Selector)
	if err != nil || found.DeletionTimestamp != nil || !want.fits(recordedBy(&found), versionsClaims(p.set)) {
		return nil, err
	}
	switch p.relation(&found, selector) {
	case own:
		return &found, nil
	case orphan:
		return p.adopt(ctx, &found)
	default:
		return nil, nil //nolint:nilnil // nil is "not one that can be used"
	}
}

// prune deletes a revision, unless a pod names it that is not the set's yet: of what a
// former owner leaves behind, the revisions may come before the pods.
func (p *pass) prune(ctx context.Context, revision *appsv1.ControllerRevision) error {
	var pods corev1.PodList
	named := client.MatchingLabels{appsv1.StatefulSetRevisionLabel: revision.Name}
	if err := p.Client.List(ctx, &pods, client.InNamespace(revision.Namespace), named, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the pods of revision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	if len(pods.Items) > 0 {
		return nil
	}
	return p.remove(ctx, revision)
}

// remove deletes a revision as it was judged: one that was changed since may be needed
// again.
func (p *pass) remove(ctx context.Context, revision *appsv1.ControllerRevision) error {
	err := p.Client.Delete(ctx, revision, client.Preconditions{UID: &revision.UID, ResourceVersion: &revision.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting ControllerRevision %s/%s, which nobody needs: %w", revision.Namespace, revision.Name, advised(err))
	}
	return nil
}

// patch writes a revision unless it was changed since it was read.
func (p *pass) patch(
	ctx context.Context, revision *appsv1.ControllerRevision, doing string, change func(*appsv1.ControllerRevision),
) (*appsv1.ControllerRevision, error) {
	next := revision.DeepCopy()
	change(next)
	err := p.Client.Patch(ctx, next, client.MergeFromWithOptions(revision, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return nil, fmt.Errorf("%s ControllerRevision %s/%s: %w", doing, revision.Namespace, revision.Name, advised(err))
	}
	return next, nil
}

// advised adds to an error of the API server what mends it.
func advised(err error) error {
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w; it is read and tried again", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; grant the slice controller get, list, watch, create, patch and delete on controllerrevisions of apps", err)
	}
	return err
}
