// Package view converts API objects to the states that the auditor judges.
package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// Pod converts a pod.
func Pod(pod *corev1.Pod, ordinal int32) judge.PodState {
	ready := false
	for _, c := range pod.Status.Conditions {
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	return judge.PodState{
		Ordinal:     ordinal,
		UID:         pod.UID,
		RV:          pod.ResourceVersion,
		Ready:       ready,
		Terminating: pod.DeletionTimestamp != nil,
		Node:        pod.Spec.NodeName,
	}
}

// Writer converts a pod to a user of the claims that it may write. mounted is true once it has a node, until its containers
// have ended.
func Writer(pod *corev1.Pod) (w judge.Writer, mounted bool) {
	w = judge.Writer{Name: pod.Name, UID: pod.UID}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil && !claim.ReadOnly {
			w.Claims = append(w.Claims, claim.ClaimName)
		}
	}
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return w, pod.Spec.NodeName != "" && !ended
}

// Slice reads the fields that all kinds of StatefulSet share.
func Slice(set *unstructured.Unstructured) judge.SliceState {
	state := judge.SliceState{UID: set.GetUID(), Generation: set.GetGeneration(), Replicas: 1}
	if n, ok, _ := unstructured.NestedInt64(set.Object, "spec", "replicas"); ok {
		state.Replicas = int32(n)
	}
	if n, ok, _ := unstructured.NestedInt64(set.Object, "spec", "ordinals", "start"); ok {
		state.Start = int32(n)
	}
	state.Labels, _, _ = unstructured.NestedStringMap(set.Object, "spec", "template", "metadata", "labels")
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	for _, t := range templates {
		if template, ok := t.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(template, "metadata", "name")
			state.Templates = append(state.Templates, name)
		}
	}
	return state
}

// Budget converts a PodDisruptionBudget.
func Budget(pdb *policyv1.PodDisruptionBudget) judge.DisruptionBudget {
	return judge.DisruptionBudget{
		Name:               pdb.Name,
		UID:                pdb.UID,
		RV:                 pdb.ResourceVersion,
		Generation:         pdb.Generation,
		ObservedGeneration: pdb.Status.ObservedGeneration,
		Allowed:            pdb.Status.DisruptionsAllowed,
		Selector:           pdb.Spec.Selector,
		MinAvailable:       pdb.Spec.MinAvailable,
		MaxUnavailable:     pdb.Spec.MaxUnavailable,
		WrittenBy:          formOwner(pdb),
	}
}

// engine is the field manager of a migration. A budget form that it wrote is not the author's.
const engine = "sliceshift"

// formOwner returns the manager, other than a migration, that owns the form of a budget; empty if there is none.
func formOwner(pdb *policyv1.PodDisruptionBudget) string {
	field := "f:minAvailable"
	if pdb.Spec.MaxUnavailable != nil {
		field = "f:maxUnavailable"
	}
	for _, entry := range pdb.ManagedFields {
		if entry.Manager != engine && entry.Subresource == "" && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"`+field+`"`) {
			return entry.Manager
		}
	}
	return ""
}

// Claim converts a PersistentVolumeClaim.
func Claim(claim *corev1.PersistentVolumeClaim, set string, templates []string) judge.ClaimState {
	state := judge.ClaimState{
		Name:        claim.Name,
		UID:         claim.UID,
		RV:          claim.ResourceVersion,
		VolumeName:  claim.Spec.VolumeName,
		Phase:       claim.Status.Phase,
		Terminating: claim.DeletionTimestamp != nil,
	}
	if key, ok := judge.VolumeKeyOf(claim.Name, set, templates); ok {
		state.Key = &key
	}
	return state
}

// Attachment converts a VolumeAttachment.
func Attachment(a *storagev1.VolumeAttachment) judge.Attachment {
	state := judge.Attachment{Name: a.Name, RV: a.ResourceVersion, Node: a.Spec.NodeName}
	if volume := a.Spec.Source.PersistentVolumeName; volume != nil {
		state.Volume = *volume
	}
	return state
}

// Volume converts a PersistentVolume.
func Volume(pv *corev1.PersistentVolume) judge.VolumeState {
	state := judge.VolumeState{
		Name:   pv.Name,
		RV:     pv.ResourceVersion,
		UID:    pv.UID,
		Handle: Handle(pv),
		Policy: pv.Spec.PersistentVolumeReclaimPolicy,
		Phase:  pv.Status.Phase,
		Many: slices.ContainsFunc(pv.Spec.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool {
			return mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany
		}),
	}
	switch {
	case pv.Spec.HostPath != nil:
		state.Folder = pv.Spec.HostPath.Path
	case pv.Spec.Local != nil:
		state.Folder = pv.Spec.Local.Path
	case pv.Spec.CSI != nil:
		state.Folder = pv.Spec.CSI.VolumeHandle
	}
	if ref := pv.Spec.ClaimRef; ref != nil {
		state.ClaimNamespace, state.ClaimName, state.ClaimUID = ref.Namespace, ref.Name, ref.UID
	}
	return state
}

// Handle identifies the storage behind a volume, whatever the name of the volume object: two volumes with the same
// handle are the same disk. It is empty for a volume source that the auditor does not know.
func Handle(pv *corev1.PersistentVolume) string {
	s := &pv.Spec.PersistentVolumeSource
	switch {
	case s.CSI != nil:
		return fmt.Sprintf("csi %s/%s", s.CSI.Driver, s.CSI.VolumeHandle)
	case s.HostPath != nil:
		return "hostPath " + s.HostPath.Path
	case s.Local != nil:
		return "local " + s.Local.Path
	case s.NFS != nil:
		return fmt.Sprintf("nfs %s:%s", s.NFS.Server, s.NFS.Path)
	case s.ISCSI != nil:
		return fmt.Sprintf("iscsi %s/%s/%d", s.ISCSI.TargetPortal, s.ISCSI.IQN, s.ISCSI.Lun)
	case s.FC != nil:
		return fibreChannelHandle(s.FC)
	default:
		return cloudHandle(s)
	}
}

func fibreChannelHandle(fc *corev1.FCVolumeSource) string {
	lun := ""
	if fc.Lun != nil {
		lun = strconv.Itoa(int(*fc.Lun))
	}
	return fmt.Sprintf("fc %s/%s/%s", strings.Join(fc.TargetWWNs, ","), lun, strings.Join(fc.WWIDs, ","))
}

// cloudHandle covers the in-tree names of cloud disks.
func cloudHandle(s *corev1.PersistentVolumeSource) string {
	switch {
	case s.AWSElasticBlockStore != nil:
		return "awsElasticBlockStore " + s.AWSElasticBlockStore.VolumeID
	case s.GCEPersistentDisk != nil:
		return "gcePersistentDisk " + s.GCEPersistentDisk.PDName
	case s.AzureDisk != nil:
		return "azureDisk " + s.AzureDisk.DataDiskURI
	case s.AzureFile != nil:
		return "azureFile " + s.AzureFile.SecretName + "/" + s.AzureFile.ShareName
	case s.Cinder != nil:
		return "cinder " + s.Cinder.VolumeID
	case s.VsphereVolume != nil:
		return "vsphereVolume " + s.VsphereVolume.VolumePath
	case s.RBD != nil:
		return fmt.Sprintf("rbd %s/%s/%s", strings.Join(s.RBD.CephMonitors, ","), s.RBD.RBDPool, s.RBD.RBDImage)
	case s.CephFS != nil:
		return fmt.Sprintf("cephfs %s:%s", strings.Join(s.CephFS.Monitors, ","), s.CephFS.Path)
	default:
		return ""
	}
}
