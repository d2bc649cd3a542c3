package methods

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
	snapshotmanifest "github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// Write performs one action of any method: exactly one write. The API server refuses it if the object has changed since
// pair was observed. Write returns the object that was written; nil after a deletion.
func Write(ctx context.Context, c volumes.Carrier, action volumes.Action, pair volumes.Pair) (client.Object, error) {
	w, own := writerOf(c, action, pair), action.Kind() == volumes.KindClaim && action.Part() == "" && action.Copy.Attempt == 0
	switch change := action.Change(); {
	case change == volumes.Deletes:
		return nil, w.deleted(ctx)
	case action.Kind() == volumes.KindVolume, own:
		return volumes.Apply(ctx, c, action, pair)
	case change == volumes.Creates:
		return w.created(ctx, pair)
	case change == volumes.Updates:
		return w.updated(ctx)
	default:
		return nil, fmt.Errorf("unknown action %q", action.Verb)
	}
}

// created creates the object of the action.
func (w writer) created(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	object, err := w.object(ctx, pair)
	if err != nil {
		return nil, err
	}
	return object, w.at.Create(ctx, object)
}

// object returns the object that the action creates.
func (w writer) object(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	switch w.action.Kind() {
	case volumes.KindClaim:
		return w.newClaim(ctx, pair)
	case volumes.KindPod:
		return w.mover(ctx, pair)
	case volumes.KindService:
		return w.entrance(), nil
	case volumes.KindExport:
		return w.export(), nil
	case volumes.KindSnapshot:
		return w.snapshot(), nil
	case volumes.KindContent:
		return w.content(ctx)
	default:
		return nil, fmt.Errorf("action %q creates an object of no known kind", w.action.Verb)
	}
}

// newClaim returns a claim of the part that the action creates.
func (w writer) newClaim(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	switch w.action.Part() {
	case volumes.PartIncoming:
		return w.incoming(ctx, pair)
	case volumes.PartOutgoing:
		return w.outgoing(ctx, pair)
	case volumes.PartBase:
		return w.base(ctx, pair)
	default:
		return w.claim(ctx, pair)
	}
}

// updated writes to the object that was judged.
func (w writer) updated(ctx context.Context) (client.Object, error) {
	if w.action.Kind() == volumes.KindContent {
		return w.writeContent(ctx)
	}
	annotations := map[string]any{api.FenceAnnotationKey: w.action.Fence}
	if peer := w.action.Copy.Peer; peer != "" {
		annotations[manifest.PeerAnnotationKey] = peer
	}
	return volumes.Patch(ctx, w.at, &corev1.Pod{ObjectMeta: w.meta(w.action.Copy.Pod)}, w.action, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// deleted deletes the object that was judged.
func (w writer) deleted(ctx context.Context) error {
	object, err := w.empty()
	if err != nil {
		return err
	}
	return w.at.Delete(ctx, object, client.Preconditions{UID: &w.action.UID, ResourceVersion: &w.action.ResourceVersion})
}

// empty returns an object of the action's kind with nothing but its name.
func (w writer) empty() (client.Object, error) {
	switch meta := w.meta(w.action.Object()); w.action.Kind() {
	case volumes.KindClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta}, nil
	case volumes.KindPod:
		return &corev1.Pod{ObjectMeta: meta}, nil
	case volumes.KindService:
		return &corev1.Service{ObjectMeta: meta}, nil
	case volumes.KindSnapshot:
		return snapshotmanifest.Empty(snapshotmanifest.SnapshotKind, w.action.Ref), nil
	case volumes.KindContent:
		return snapshotmanifest.Empty(snapshotmanifest.ContentKind, volumes.Ref{Name: w.action.Ref.Name}), nil
	default:
		return nil, fmt.Errorf("action %q deletes an object of no known kind", w.action.Verb)
	}
}

// writer performs one action in the cluster at. The ordinal's claim in the other cluster is from.
type writer struct {
	volumes.Carrier
	action    volumes.Action
	at, other client.Client
	from      volumes.Ref
}

// writerOf returns the writer of an action.
func writerOf(c volumes.Carrier, action volumes.Action, pair volumes.Pair) writer {
	if action.AtGiver {
		return writer{Carrier: c, action: action, at: c.Giver, other: c.Taker, from: pair.Taker.Ref}
	}
	return writer{Carrier: c, action: action, at: c.Taker, other: c.Giver, from: pair.Giver.Ref}
}

func (w writer) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.action.Ref.Namespace, Name: name}
}

// original returns the ordinal's claim on the other side.
func (w writer) original(ctx context.Context) (*corev1.PersistentVolumeClaim, error) {
	var claim corev1.PersistentVolumeClaim
	err := w.other.Get(ctx, client.ObjectKey{Namespace: w.from.Namespace, Name: w.from.Name}, &claim)
	return &claim, err
}

// class returns the storage class of a new volume: that of the side's former volume, or the requested one.
func (w writer) class() *string {
	if class := w.action.Copy.Class; class != "" {
		return &class
	}
	return w.StorageClass
}

// incoming returns the claim of the second volume, with the size of the first or the requested size.
func (w writer) incoming(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	from, err := w.original(ctx)
	if err != nil {
		return nil, err
	}
	claim := w.incomingOf(from)
	if err := w.likeOf(ctx, w.ownRef(pair), claim); err != nil { // a side that has had the ordinal before keeps its own form
		return nil, err
	}
	volumes.Form{AccessModes: w.AccessModes}.Give(claim)
	return claim, nil
}

// likeOf gives a claim the access modes of an existing one, and its VolumeAttributesClass if both have one storage
// class. If that claim does not exist, the other keeps its own.
func (w writer) likeOf(ctx context.Context, ref volumes.Ref, claim *corev1.PersistentVolumeClaim) error {
	var there corev1.PersistentVolumeClaim
	err := w.at.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &there)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	claim.Spec.AccessModes = there.Spec.AccessModes
	if ptr.Equal(there.Spec.StorageClassName, claim.Spec.StorageClassName) {
		claim.Spec.VolumeAttributesClassName = there.Spec.VolumeAttributesClassName
	}
	return nil
}

func (w writer) incomingOf(from *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim := w.claimOf(from, "")
	claim.Spec.VolumeAttributesClassName = from.Spec.VolumeAttributesClassName
	volumes.Form{StorageClass: w.class(), AccessModes: w.AccessModes}.Give(claim)
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: w.size(from)}
	if source := w.action.Copy.Snapshot.Source; source != "" {
		claim.Spec.DataSource = snapshotmanifest.DataSource(source)
	}
	return claim
}

func (w writer) size(from *corev1.PersistentVolumeClaim) resource.Quantity {
	switch size := w.action.Copy.Size; {
	case size > 0:
		return *resource.NewQuantity(size, resource.BinarySI)
	case w.Copy.Size != nil:
		return *w.Copy.Size
	}
	return Needed(from)
}

// Needed returns the size that a copy of a claim needs: the larger of its request and its capacity.
func Needed(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	if has.Cmp(asked) > 0 {
		return has
	}
	return asked
}

// outgoing returns the claim from which the last pass reads: a copy of the ordinal's claim under another name.
func (w writer) outgoing(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	from, err := w.own(ctx, pair)
	if err != nil {
		return nil, err
	}
	claim := w.outgoingOf(from)
	return claim, nil
}

// ownRef names the ordinal's claim on the side of the write.
func (w writer) ownRef(pair volumes.Pair) volumes.Ref {
	if w.action.AtGiver {
		return pair.Giver.Ref
	}
	return pair.Taker.Ref
}

// own returns that claim.
func (w writer) own(ctx context.Context, pair volumes.Pair) (*corev1.PersistentVolumeClaim, error) {
	ref := w.ownRef(pair)
	var claim corev1.PersistentVolumeClaim
	err := w.at.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &claim)
	return &claim, err
}

func (w writer) outgoingOf(from *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	claim := w.claimOf(from, w.action.Volume)
	claim.Spec.Resources.Requests = from.Spec.Resources.Requests
	return claim
}

// claimOf returns a claim for movers. No selector of the application matches it.
func (w writer) claimOf(from *corev1.PersistentVolumeClaim, volume string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: w.meta(w.action.Ref.Name)}
	claim.Labels = map[string]string{api.MigrationLabelKey: string(w.Owner)}
	claim.Annotations = map[string]string{api.OwnerAnnotationKey: string(w.Owner), api.FenceAnnotationKey: w.action.Fence}
	claim.Spec.AccessModes, claim.Spec.VolumeMode, claim.Spec.VolumeName = from.Spec.AccessModes, from.Spec.VolumeMode, volume
	claim.Spec.StorageClassName = from.Spec.StorageClassName
	return claim
}

// claim returns the ordinal's own claim for the copy that was taken over. It has the form of the claim in which the
// volume was filled, with which that volume was provisioned.
func (w writer) claim(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	from, err := w.original(ctx)
	if err != nil {
		return nil, err
	}
	claim := volumes.CopyClaim(from, w.action.Ref, w.action.Volume, w.Owner, volumes.Form{StorageClass: &w.action.Copy.Class, AccessModes: w.AccessModes})
	claim.Spec.VolumeAttributesClassName = nil
	if err := w.likeOf(ctx, volumes.HandingOf(pair).Incoming.Ref, claim); err != nil {
		return nil, err
	}
	claim.Annotations[api.FenceAnnotationKey] = w.action.Fence
	return claim, nil
}

// entrance returns the Service of the receiver, which the incoming claim owns.
func (w writer) entrance() client.Object {
	service := manifest.ServiceFor(w.spec(), w.Copy.ServiceType)
	service.OwnerReferences = w.withClaim()
	return service
}

// export returns the ServiceExport of that Service. It is marked like the Service, and the incoming claim owns it too.
func (w writer) export() client.Object {
	export := NewServiceExport(w.action.Copy.ExportVersion, manifest.ServiceFor(w.spec(), w.Copy.ServiceType).ObjectMeta)
	export.SetOwnerReferences(w.withClaim())
	return export
}

// NewServiceExport returns the export of the Service that meta names, in a version of ServiceExport that its
// cluster serves.
func NewServiceExport(version string, meta metav1.ObjectMeta) client.Object {
	if version == mcsv1beta1.GroupVersion.Version {
		return &mcsv1beta1.ServiceExport{ObjectMeta: meta}
	}
	return &mcsv1alpha1.ServiceExport{ObjectMeta: meta}
}

// withClaim returns the owner reference to the claim of the action, so that an object is deleted with that
// claim.
func (w writer) withClaim() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "PersistentVolumeClaim", Name: w.action.Ref.Name, UID: w.action.UID}}
}

// spec returns the shared fields of an attempt's movers.
func (w writer) spec() manifest.Spec {
	spec := manifest.Spec{
		Namespace: w.action.Ref.Namespace, Name: w.action.Copy.Pod, Owner: w.Owner, Fence: w.action.Fence, Claim: w.action.Ref.Name,
		Attempt: w.action.Copy.Attempt, Pass: w.action.Copy.Pass, Content: w.action.Copy.Content, Connect: w.action.Copy.Address, Relayed: w.action.Copy.Relayed,
		Fresh: w.action.Copy.Fresh, Warm: w.action.Copy.Warm, Node: w.action.Copy.Node, Image: w.Copy.Image, Resources: w.Copy.Resources,
		Verify: cmp.Or(string(w.action.Copy.Verify), "None"), Copy: w.action.Copy.Copy, Devices: w.Copy.Devices,
	}
	if w.Copy.Bandwidth != nil {
		spec.Bandwidth = w.Copy.Bandwidth.String()
	}
	if user := w.Copy.RunAsUser; user != nil {
		group := *user
		if w.Copy.RunAsGroup != nil {
			group = *w.Copy.RunAsGroup
		}
		security := manifest.AsUser(*user, group)
		spec.Security = &security
	}
	return spec
}

// mover returns the pod of a mover for the claim of the action.
func (w writer) mover(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	role := w.action.Copy.Role
	var claim corev1.PersistentVolumeClaim
	if role != volumes.RolePlaceholder {
		if err := w.at.Get(ctx, client.ObjectKey{Namespace: w.action.Ref.Namespace, Name: w.action.Ref.Name}, &claim); err != nil {
			return nil, err
		}
	}
	template, err := w.Template(ctx)
	if err != nil {
		return nil, err
	}
	var near []corev1.NodeSelector
	if role == volumes.RoleReceiver || role == volumes.RolePlaceholder {
		if near, err = w.near(ctx, pair.Copy); err != nil {
			return nil, err
		}
	}
	if role == volumes.RolePlaceholder {
		return w.placeholder(template, near), nil
	}
	return w.pod(template, claim.Spec.VolumeMode, near), nil
}

// near returns the node affinities of the ordinal's other volumes, which restrict where a new volume may be
// provisioned.
func (w writer) near(ctx context.Context, known *volumes.Copying) ([]corev1.NodeSelector, error) {
	if known == nil {
		return nil, nil
	}
	beside, near := known.Beside, []corev1.NodeSelector(nil)
	for _, from := range []struct {
		client.Client
		names []string
	}{{w.Taker, beside.Taken}, {w.Giver, beside.Given}} {
		for _, name := range from.names {
			var volume corev1.PersistentVolume
			if err := from.Get(ctx, client.ObjectKey{Name: name}, &volume); err != nil {
				return nil, err
			}
			if at := volume.Spec.NodeAffinity; at != nil && at.Required != nil {
				near = append(near, *at.Required)
			}
		}
	}
	return near, nil
}

// pod returns the pod of a mover, placed like the pods of the ordinals.
func (w writer) pod(template *corev1.PodTemplateSpec, mode *corev1.PersistentVolumeMode, near []corev1.NodeSelector) *corev1.Pod {
	spec := w.spec()
	spec.Near = near
	if mode != nil {
		spec.Mode = *mode
	}
	spec.Placement, spec.PullSecrets = manifest.PlacementOf(template.Spec), template.Spec.ImagePullSecrets
	if template.Spec.SecurityContext != nil {
		spec.SELinux = template.Spec.SecurityContext.SELinuxOptions
	}
	if w.action.Copy.Role == volumes.RoleReceiver {
		return manifest.Receiver(spec)
	}
	return manifest.Sender(spec)
}

// Rehearsal returns, for a dry run, the pod that a mover would have beside an ordinal's claim.
func Rehearsal(c volumes.Carrier, claim volumes.Ref, role volumes.Role, template *corev1.PodTemplateSpec) *corev1.Pod {
	w := writer{Carrier: c}
	w.action.Ref, w.action.Copy.Role, w.action.Copy.Attempt, w.action.Copy.Pass = claim, role, 1, 1
	w.action.Copy.Pod, w.action.Copy.Address = copy.PodName(role, claim, c.Owner, 1), "receiver:8722"
	w.action.Copy.Relayed = c.Copy.Transport == api.TransportRelay
	w.action.Copy.Verify, w.action.Copy.Copy = cmp.Or(c.Copy.Verify, api.CopyVerifyFull), volumes.IncomingRef(claim, c.Owner, 1).Name
	return w.pod(template, nil, nil)
}

// RehearsalBeside returns, for a dry run, the claim that a mover would mount beside an ordinal's claim. For a
// receiver it also returns the Service. original is the ordinal's claim at the source.
func RehearsalBeside(c volumes.Carrier, claim volumes.Ref, role volumes.Role, original *corev1.PersistentVolumeClaim) []client.Object {
	w := writer{Carrier: c}
	if role == volumes.RoleSender {
		w.action.Ref, w.action.Volume = volumes.OutgoingRef(claim, c.Owner), original.Spec.VolumeName
		return []client.Object{w.outgoingOf(original)}
	}
	w.action.Ref = volumes.IncomingRef(claim, c.Owner, 1)
	if c.Copy.Transport == api.TransportRelay {
		return []client.Object{w.incomingOf(original)}
	}
	return []client.Object{w.incomingOf(original), manifest.ServiceFor(w.spec(), c.Copy.ServiceType)}
}
