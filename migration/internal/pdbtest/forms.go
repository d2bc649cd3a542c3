// Package pdbtest has the forms of PodDisruptionBudgets that tests of a migration begin with.
package pdbtest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/pdb"
)

// MaxUnavailable lets so many be unavailable.
func MaxUnavailable(n int32) *pdb.Form {
	value := intstr.FromInt32(n)
	return &pdb.Form{MaxUnavailable: &value}
}

// MinAvailable has so many stay.
func MinAvailable(n int32) *pdb.Form {
	value := intstr.FromInt32(n)
	return &pdb.Form{MinAvailable: &value}
}

// MaxUnavailablePercent lets so many percent be unavailable.
func MaxUnavailablePercent(n int) *pdb.Form {
	value := intstr.FromString(fmt.Sprintf("%d%%", n))
	return &pdb.Form{MaxUnavailable: &value}
}

// MinAvailablePercent has so many percent stay.
func MinAvailablePercent(n int) *pdb.Form {
	value := intstr.FromString(fmt.Sprintf("%d%%", n))
	return &pdb.Form{MinAvailable: &value}
}

// Unparsable is no number and no percentage.
func Unparsable() *intstr.IntOrString {
	value := intstr.FromString("many")
	return &value
}
