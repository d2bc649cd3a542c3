package docs

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"testing"
)

// deletes matches a command that deletes objects whose data may be deleted with them.
var deletes = regexp.MustCompile(`delete (pv|pvc|persistentvolumes?|persistentvolumeclaims?|volumesnapshots?|volumesnapshotcontents?) `)

// keepers are the functions that may build such commands. Each keeps the data: the volume, or the snapshot content, is
// first set to Retain in the same line.
var keepers = []string{
	"volumes Delete", "volumes deleteVolume", "volumes/snapshot foreign", "volumes/snapshot record", "cmd/migrate/kept volumeOf",
}

// TestRemediesDestroyNothing: only a few functions, which keep the data, build commands that delete claims, volumes
// and snapshots. A user who followed any other such command in a message could lose a disk.
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
