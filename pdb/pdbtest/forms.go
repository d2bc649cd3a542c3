// Package pdbtest provides forms of PodDisruptionBudgets for tests of a migration.
package pdbtest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/pdb"
)

// MaxUnavailable returns a budget with maxUnavailable: n.
func MaxUnavailable(n int32) *pdb.Form {
	value := intstr.FromInt32(n)
	return &pdb.Form{MaxUnavailable: &value}
}

// MinAvailable returns a budget with minAvailable: n.
func MinAvailable(n int32) *pdb.Form {
	value := intstr.FromInt32(n)
	return &pdb.Form{MinAvailable: &value}
}

// MaxUnavailablePercent returns a budget with maxUnavailable: n%.
func MaxUnavailablePercent(n int) *pdb.Form {
	value := intstr.FromString(fmt.Sprintf("%d%%", n))
	return &pdb.Form{MaxUnavailable: &value}
}

// MinAvailablePercent returns a budget with minAvailable: n%.
func MinAvailablePercent(n int) *pdb.Form {
	value := intstr.FromString(fmt.Sprintf("%d%%", n))
	return &pdb.Form{MinAvailable: &value}
}

// Unparsable returns a value that is neither a number nor a percentage.
func Unparsable() *intstr.IntOrString {
	value := intstr.FromString("many")
	return &value
}
