package docs

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"testing"
)

// deletes matches a command that deletes what may take data with it.
var deletes = regexp.MustCompile(`delete (pv|pvc|persistentvolumes?|persistentvolumeclaims?|volumesnapshots?|volumesnapshotcontents?) `)

// keepers are the functions that build such commands, each so that the data stay: the volume, or the content of the snapshot, is set
// to Retain first in the same line.
var keepers = []string{
	"volumes Delete", "volumes deleteVolume", "volumes/snapshot foreign", "volumes/snapshot record", "cmd/migrate/kept volumeOf",
}

// TestRemediesDestroyNothing: commands that delete claims, volumes and snapshots are built in a few places alone, which keep the data.
// A message that has one of its own would be followed by somebody who loses a disk.
func TestRemediesDestroyNothing(t *testing.T) {
	for _, p := range parsePackages(t) {
		for _, file := range p.files {
			for _, declared := range file.Decls {
				function, is := declared.(*ast.FuncDecl)
				if !is || slices.Contains(keepers, p.place+" "+function.Name.Name) {
					continue
				}
				ast.Inspect(function, func(n ast.Node) bool {
					if text, is := n.(*ast.BasicLit); is && text.Kind == token.STRING && deletes.MatchString(text.Value) {
						t.Errorf("%s: func %s: %s", p.place, function.Name.Name, text.Value)
					}
					return true
				})
			}
		}
	}
}
