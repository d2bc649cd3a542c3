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

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Store reads and writes revisions.
type Store struct {
	// Client lists, from a cache if it has one, and writes.
	Client client.Client
	// Live bypasses the cache. It is used before an adoption, and when a name is already taken.
	Live client.Reader
	Inputs
}

// Result is the state of the history that a reconciler needs.
type Result struct {
	// Current is the revision of pods below the partition. Update is the desired revision of the others. Both are nil if the
	// inputs are unknown and there is no former update revision.
	Current, Update *appsv1.ControllerRevision
	// Owned are all revisions of the set before this pass.
	Owned []*appsv1.ControllerRevision
	// CollisionCount is the new value of the status field.
	CollisionCount int32
	// Relabel maps the revision in a pod's label to the equivalent revision that the label should have. Such a pod needs no
	// restart.
	Relabel map[string]string
}

// Sync updates the history of a set: it adopts orphaned revisions, creates or renumbers the revision of the template, and
// deletes revisions that are no longer needed. pods are the revisions in the labels of the set's pods. Sync reads the set's
// status and does not write it. It writes nothing if the history is up to date or the set is being deleted.
//
// Sync may be repeated after any error. If it returns an error and a Result with an Update, only optional writes failed,
// such as the deletion of an old revision. The Result is valid, and the next Sync retries these writes.
func (s Store) Sync(ctx context.Context, set *api.StatefulSet, pods []string) (Result, error) {
	p := &pass{Store: s, set: set}
	p.alive = sync.OnceValue(func() error { return p.recheck(ctx) })
	owned, err := p.owned(ctx, pods)
	if err != nil {
		return Result{}, err
	}
	d, err := Decide(State{Set: set, Revisions: owned, Pods: pods, Inputs: s.Inputs})
	if err != nil || d.Update == nil {
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
	default: // its number is only for display
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

// postpone records a failed write for the next pass, so that pods do not wait for it.
func (p *pass) postpone(err error) {
	if err != nil {
		p.postponed = append(p.postponed, err)
	}
}

// pass is one Sync of one set.
type pass struct {
	Store
	set *api.StatefulSet
	// alive returns an error unless the set exists on the API server with the same UID and is not being deleted.
	alive func() error
	// postponed are the errors of optional writes.
	postponed []error
}

// recheck reads the set from the API server, because the cache may not show its deletion yet.
func (p *pass) recheck(ctx context.Context) error {
	var live api.StatefulSet
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.set), &live)
	switch {
	case err != nil:
		return fmt.Errorf("reading StatefulSet %s/%s before it takes over a revision: %w", p.set.Namespace, p.set.Name, err)
	case live.UID != p.set.UID:
		return fmt.Errorf("StatefulSet %s/%s was recreated (UID %s, not %s): the former one takes over no revision", p.set.Namespace, p.set.Name, live.UID, p.set.UID)
	case live.DeletionTimestamp != nil:
		return fmt.Errorf("StatefulSet %s/%s is being deleted: it takes over no revision", p.set.Namespace, p.set.Name)
	}
	return nil
}

// owned returns the set's revisions. It adopts orphans that the selector matches. It releases revisions that the selector no
// longer matches, unless a pod needs them for its recreation. It ignores revisions that are being deleted.
func (p *pass) owned(ctx context.Context, pods []string) ([]*appsv1.ControllerRevision, error) {
	selector, err := metav1.LabelSelectorAsSelector(p.set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("the selector of StatefulSet %s/%s cannot be read: %w; correct spec.selector", p.set.Namespace, p.set.Name, err)
	}
	var all appsv1.ControllerRevisionList
	// Most revisions of a namespace belong to other sets, so they are not copied.
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

// claim returns a copy of a revision if it belongs to the set or is adopted.
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

// claimOrphan adopts a revision. An error is postponed if the status, the pods and the template do not need the revision.
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

// relation is the relation of a revision to a set.
type relation int

const (
	foreign relation = iota
	// orphan has no controller, and matches the set's selector.
	orphan
	// own is controlled by the set and matches its selector.
	own
	// strayed is controlled by the set and does not match its selector.
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

// adopt makes the set the controller of a revision that has none. It replaces a plain owner reference of the set.
func (p *pass) adopt(ctx context.Context, revision *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	if err := p.alive(); err != nil {
		return nil, err
	}
	refs := append(p.otherOwners(revision), *metav1.NewControllerRef(p.set, Kind))
	return p.patch(ctx, revision, "taking over", func(next *appsv1.ControllerRevision) { next.OwnerReferences = refs })
}

// release removes the set's owner reference from a revision.
func (p *pass) release(ctx context.Context, revision *appsv1.ControllerRevision) error {
	refs := p.otherOwners(revision)
	_, err := p.patch(ctx, revision, "releasing", func(next *appsv1.ControllerRevision) { next.OwnerReferences = refs })
	return client.IgnoreNotFound(err)
}

func (p *pass) otherOwners(revision *appsv1.ControllerRevision) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(revision.OwnerReferences), func(ref metav1.OwnerReference) bool { return ref.UID == p.set.UID })
}

// record ensures that the update revision exists with its number and its claims.
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

// create creates a revision. If the name belongs to other content, it tries another name.
func (p *pass) create(ctx context.Context, wanted *appsv1.ControllerRevision, collisions *int32) (*appsv1.ControllerRevision, error) {
	want, err := State{Set: p.set, Inputs: p.Inputs}.wanted()
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

// taken returns the existing revision of a name if it can be used, because the cache had not shown it. It returns nil if the
// revision belongs to another owner or has other content.
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

// prune deletes a revision, unless the label of any pod names it. A pod of a former owner may be adopted later than its
// revision.
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

// remove deletes a revision unless it has changed since it was read. A changed revision may be needed again.
func (p *pass) remove(ctx context.Context, revision *appsv1.ControllerRevision) error {
	err := p.Client.Delete(ctx, revision, client.Preconditions{UID: &revision.UID, ResourceVersion: &revision.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the unused ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, advised(err))
	}
	return nil
}

// patch patches a revision unless it has changed since it was read.
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

// advised adds the remedy to an error of the API server.
func advised(err error) error {
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("%w; it is read and tried again", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; grant the slice controller get, list, watch, create, patch and delete on controllerrevisions of apps", err)
	}
	return err
}
