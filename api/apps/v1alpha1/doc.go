// Package v1alpha1 holds the slice API: a StatefulSet that owns the ordinals
// [start, start+replicas) of an application. It has every update strategy of StatefulSet, DaemonSet, Deployment and Advanced
// StatefulSet. To use a manifest of apps/v1, change its apiVersion.
//
// +kubebuilder:object:generate=true
// +groupName=apps.sliceshift.io
package v1alpha1
