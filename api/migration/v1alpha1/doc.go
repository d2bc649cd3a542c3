// Package v1alpha1 holds the Migration API: the move of a running StatefulSet
// to another cluster or namespace, one ordinal at a time.
//
// +kubebuilder:object:generate=true
// +groupName=migration.sliceshift.io
package v1alpha1
