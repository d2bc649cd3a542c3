// Package v1alpha1 holds the slice API: a StatefulSet that owns the ordinals
// [start, start+replicas) of an application, with every update strategy of
// StatefulSet, DaemonSet, Deployment and Advanced StatefulSet. A manifest of apps/v1
// becomes one of ours when its apiVersion line is changed.
//
// +kubebuilder:object:generate=true
// +groupName=apps.sliceshift.io
package v1alpha1
