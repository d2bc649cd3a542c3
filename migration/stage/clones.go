package stage

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/methods"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// storage holds the classes of the two clusters for clones.
type storage struct {
	// snapshots are the snapshot classes of the source; nil if a cluster does not serve the API of snapshots, and lacks
	// names that cluster.
	snapshots []volumes.SnapshotClass
	lacks     string
	classes   []storagev1.StorageClass
}

// planClones returns the clones and the empty volumes of the ordinals, and why a volume cannot be cloned.
func (s *Stage) planClones(ctx context.Context, r rehearsal.Record, ordinals []int32) ([]rehearsal.ClonePlan, []plan.Finding, error) {
	templates := world.ClaimTemplates(s.set)
	if len(templates) == 0 {
		return nil, nil, nil
	}
	cloned := slices.ContainsFunc(templates, func(template string) bool { return !s.startsEmpty(template) })
	has, err := s.readStorage(ctx, cloned && !s.Copies)
	if err != nil {
		return nil, nil, err
	}
	if has.lacks != "" {
		return nil, []plan.Finding{s.finding(volumes.ReasonSnapshotsNotServed,
			fmt.Sprintf("cluster %s has no API snapshot.storage.k8s.io/v1, and volumes are cloned by snapshots", has.lacks),
			"install the snapshot-controller of kubernetes-csi/external-snapshotter and its CustomResourceDefinitions there; or copy the running volumes: --method copy; or rehearse empty volumes: --volume TEMPLATE=empty")}, nil
	}
	var clones []rehearsal.ClonePlan
	var findings []plan.Finding
	for _, template := range templates {
		for _, ordinal := range ordinals {
			clone, finding, err := s.planClone(ctx, r, has, template, ordinal)
			switch {
			case err != nil:
				return nil, nil, err
			case finding != nil:
				findings = append(findings, *finding)
			default:
				clones = append(clones, clone)
			}
		}
	}
	return clones, findings, nil
}

// volumeSpec returns the settings of a claim template.
func (s *Stage) volumeSpec(template string) api.VolumeSpec {
	for _, v := range s.Spec.Volumes {
		if v.ClaimTemplate == template {
			return v
		}
	}
	return api.VolumeSpec{ClaimTemplate: template, Method: api.MethodRebind}
}

// startsEmpty reports whether the pods start on empty volumes of a claim template, as in the move.
func (s *Stage) startsEmpty(template string) bool {
	return s.volumeSpec(template).Method == api.MethodEmpty
}

// classOf returns the storage class that a clone names; nil for the default class.
func (s *Stage) classOf(template string) *string {
	if class := s.volumeSpec(template).StorageClassName; class != nil {
		return class
	}
	for i := range s.set.Spec.VolumeClaimTemplates {
		if t := &s.set.Spec.VolumeClaimTemplates[i]; t.Name == template {
			return volumes.ClassNamed(t)
		}
	}
	return nil
}

// readStorage reads the classes of the destination, and those of snapshots if these are taken.
func (s *Stage) readStorage(ctx context.Context, snapshots bool) (storage, error) {
	var has storage
	for _, at := range []endpoint.Endpoint{s.Pair.Source, s.Pair.Destination} {
		if !snapshots {
			break
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(manifest.ClassListKind)
		err := at.Live.List(ctx, list)
		if meta.IsNoMatchError(err) || absent(err) {
			return storage{lacks: at.Cluster}, nil
		}
		if err != nil {
			return has, fmt.Errorf("cluster %s: listing VolumeSnapshotClasses: %w", at.Cluster, err)
		}
		if has.snapshots == nil {
			has.snapshots = manifest.ViewClasses(list)
		}
	}
	var classes storagev1.StorageClassList
	if err := s.Pair.Destination.Live.List(ctx, &classes); err != nil {
		return has, fmt.Errorf("cluster %s: listing StorageClasses: %w", s.Pair.Destination.Cluster, err)
	}
	has.classes = classes.Items
	return has, nil
}

// planClone returns the clone of one claim, or why its volume cannot be cloned.
func (s *Stage) planClone(ctx context.Context, r rehearsal.Record, has storage, template string, ordinal int32) (rehearsal.ClonePlan, *plan.Finding, error) {
	from, to := s.Pair.Source, s.Pair.Destination
	clone := rehearsal.ClonePlan{
		Template: template, Ordinal: ordinal,
		From: volumes.Ref{Namespace: from.Namespace, Name: plan.ClaimName(template, from.Set, ordinal)},
		To:   volumes.Ref{Namespace: r.Namespace, Name: plan.ClaimName(template, to.Set, ordinal)},
	}
	refuse := func(reason, message, remedy string) (rehearsal.ClonePlan, *plan.Finding, error) {
		finding := s.finding(reason, message, remedy)
		finding.Object = "claim " + clone.From.Namespace + "/" + clone.From.Name + " in cluster " + from.Cluster
		return clone, &finding, nil
	}
	class := volumes.FindClass(s.classOf(template), has.classes)
	if s.startsEmpty(template) {
		if clone.Empty, clone.StorageClass = true, ptr.Deref(s.classOf(template), ""); class != nil {
			clone.StorageClass = class.Name
		}
		return clone, nil, nil
	}
	claim, volume, err := s.bound(ctx, clone.From)
	if err != nil {
		return clone, nil, err
	}
	if volume == nil {
		return refuse(volumes.ReasonClaimNotBound, "claim "+clone.From.Name+" has no volume that could be cloned", "wait until it is bound")
	}
	clone.Driver, clone.Handle = volumes.DriverOf(volumes.Handle(volume))
	if class == nil {
		return refuse(volumes.ReasonClassMissing, "its clone has no StorageClass in cluster "+to.Cluster, fmt.Sprintf("name one: --storage-class %s=CLASS", template))
	}
	clone.StorageClass = class.Name
	clone.WaitsForPod = class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if s.Copies {
		copied, finding := s.planCopy(clone, claim)
		return copied, finding, nil
	}
	if clone.Driver == "" {
		return refuse(volumes.ReasonSnapshotUnsupported, "volume "+volume.Name+" has no CSI driver, and only CSI drivers take the snapshots that clones need",
			fmt.Sprintf("copy the running volumes: --method copy; or rehearse an empty volume, which tells nothing of the application's recovery: --volume %s=empty", template))
	}
	var lacks string
	if clone.Class, lacks = volumes.ChooseClass(has.snapshots, clone.Driver, s.volumeSpec(template).Snapshot.ClassName); clone.Class == "" {
		return refuse(volumes.ReasonSnapshotClassMissing, "no snapshot of it can be taken in cluster "+from.Cluster+": "+lacks, "create a VolumeSnapshotClass of driver "+clone.Driver+" there")
	}
	if class.Provisioner != clone.Driver {
		return refuse(volumes.ReasonSnapshotUnsupported, fmt.Sprintf("StorageClass %s of cluster %s is of %s, and the snapshots are of driver %s: it cannot restore them", class.Name, to.Cluster, class.Provisioner, clone.Driver),
			fmt.Sprintf("name one of driver %s: --storage-class %s=CLASS", clone.Driver, template))
	}
	size := methods.Needed(claim)
	clone.Size, clone.BySnapshot = size.Value(), s.volumeSpec(template).Method == api.MethodSnapshot
	return clone, nil, nil
}

// bound returns a claim of the source and its volume; nil if they are not bound to each other.
func (s *Stage) bound(ctx context.Context, ref volumes.Ref) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	at := s.Pair.Source
	claim, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, at.Live, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name})
	if err != nil || claim == nil || claim.Spec.VolumeName == "" {
		return claim, nil, err
	}
	volume, err := endpoint.Get[corev1.PersistentVolume](ctx, at.Live, client.ObjectKey{Name: claim.Spec.VolumeName})
	if volume != nil && (volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID != claim.UID) {
		return claim, nil, err
	}
	return claim, volume, err
}
