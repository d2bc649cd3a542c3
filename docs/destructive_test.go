package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deletes matches a command that deletes objects whose data, pods or protection may be deleted with them.
var deletes = regexp.MustCompile(`delete (pv|pvc|pdb|sts|pod|namespace|persistentvolumes?|persistentvolumeclaims?|volumesnapshots?|volumesnapshotcontents?) `)

// keepers are the functions that may build such commands.
var keepers = []string{
	// The volume, or the snapshot content, is first set to Retain in the same line.
	"volumes Delete", "volumes deleteVolume", "volumes/snapshot foreign", "volumes/snapshot record", "cmd/migrate/kept volumeOf",
	// With --cascade=orphan, pods and claims stay.
	"migration/preflight differences", "migration/planner otherClaims",
	// A pod that its StatefulSet no longer controls ends gracefully; its claim stays.
	"migration/planner stopping",
	// Migrations that have completed, or have not begun: nothing is written for one that is deleted.
	"cmd/migrate/evacuate sameAs",
	// The Job of a gate, which is created again.
	"migration/health judgeJob",
}

// removable are the resources that shell.Remove may delete: nothing is deleted with them.
var removable = []string{`"configmap"`, `"hpa"`, `"pdb"`}

// TestRemediesDestroyNothing: only a few functions, which keep the data, build commands that delete. A user who followed
// any other such command in a message could lose a disk.
func TestRemediesDestroyNothing(t *testing.T) {
	looked := 0
	for _, folder := range []string{"../migration", "../slices", "../volumes", "../pdb", "../cmd/migrate"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (strings.HasSuffix(entry.Name(), "test") || entry.Name() == "model"):
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			looked++
			return destroys(t, path)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 100 {
		t.Fatalf("%d files were read: the test looks at the wrong place", looked)
	}
}

// destroys reports each function of a file that builds a command that deletes.
func destroys(t *testing.T, path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
	for _, declared := range file.Decls {
		function, is := declared.(*ast.FuncDecl)
		if !is || slices.Contains(keepers, folder+" "+function.Name.Name) {
			continue
		}
		ast.Inspect(function, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind == token.STRING && deletes.MatchString(n.Value) {
					t.Errorf("%s: func %s: %s", path, function.Name.Name, n.Value)
				}
			case *ast.CallExpr:
				switch name, first := methodOf(n); {
				case name == "Do" && first == `"delete"`:
					t.Errorf("%s: func %s builds a command that deletes; shell.Remove keeps the manifest", path, function.Name.Name)
				case name == "Remove" && strings.Contains(first, `"`) && !slices.Contains(removable, first):
					t.Errorf("%s: func %s removes %s, whose deletion may delete more", path, function.Name.Name, first)
				}
			}
			return true
		})
	}
	return nil
}

// methodOf returns the name of a method that is called, and its first argument if that is a literal.
func methodOf(call *ast.CallExpr) (name, first string) {
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is || len(call.Args) == 0 {
		return "", ""
	}
	if text, is := call.Args[0].(*ast.BasicLit); is {
		first = text.Value
	}
	return method.Sel.Name, first
}
