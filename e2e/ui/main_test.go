// Package ui tests the page of the command ui in a browser, with moves between real control planes.
package ui

import (
	"os"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, nil, harness.Embedded, harness.Kind)) }
