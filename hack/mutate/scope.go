package main

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
)

// module is the path of this module.
const module = "github.com/sliceshift/sliceshift"

// packages lists the packages with logic. In a package that is not whole, only the files without side effects are in
// scope.
var packages = []struct {
	name  string
	whole bool
}{{"pdb", true}, {"volumes", true}, {"volumes/copy", true}, {"volumes/copy/manifest", true}, {"volumes/snapshot", true}, {"migration/berths", true}, {"migration/plan", true}, {"migration/checks", true}, {"migration/planner", true}, {"migration/scope", true}, {"migration/simulate", true}, {"migration/pass", true}, {"migration/queue", true}, {"migration/observe", false}, {"migration/preflight", false}, {"migration", false}, {"slices/decide", true}, {"slices/observe", false}, {"slices/execute", false}, {"slices", false}}

// effects matches imports of a file with side effects: it reads or writes, can be cancelled, logs, or shares state.
var effects = regexp.MustCompile(`^(context|log|math/rand|net|os|sync)(/|$)|^k8s\.io/(client-go|klog)/|^sigs\.k8s\.io/controller-runtime(/|$)|^github\.com/go-logr/`)

// source is a file in which faults are planted.
type source struct {
	// file is its path from the root of the repository.
	file string
	text []byte
	tree *ast.File
	set  *token.FileSet
	info *types.Info
	pkg  *types.Package
	// planted is its text with all faults, each behind its switch.
	planted string
}

// dir returns the directory of the source's package.
func (s *source) dir() string { return path.Dir(s.file) }

// inScope returns the files in which faults are planted.
func inScope(ctx context.Context, since, only string) ([]*source, error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	changed, err := changedSince(ctx, since)
	if err != nil {
		return nil, err
	}
	exports, err := exportData(ctx)
	if err != nil {
		return nil, err
	}
	var found []*source
	for _, p := range packages {
		all, err := load(p.name, exports)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			decides := p.whole || !hasEffects(s.tree)
			if decides && !ast.IsGenerated(s.tree) && match.MatchString(s.file) && (since == "" || slices.Contains(changed, s.file)) {
				found = append(found, s)
			}
		}
	}
	return found, nil
}

func hasEffects(tree *ast.File) bool {
	return slices.ContainsFunc(tree.Imports, func(i *ast.ImportSpec) bool {
		name, err := strconv.Unquote(i.Path.Value)
		return err != nil || effects.MatchString(name)
	})
}

// exportData returns where the compiler has stored the types of each imported package.
func exportData(ctx context.Context) (map[string]string, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, p := range packages {
		args = append(args, "./"+p.name)
	}
	out, err := program.In{}.Output(ctx, "go", args...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(out) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = file
	}
	return exports, nil
}

// load reads and type-checks the files of a package, without its tests.
func load(dir string, exports map[string]string) ([]*source, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	var found []*source
	var trees []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
		found = append(found, &source{file: filepath.ToSlash(name), text: text, tree: tree, set: set, info: info})
	}
	lookup := func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) }
	config := types.Config{Importer: importer.ForCompiler(set, "gc", lookup)}
	checked, err := config.Check(module+"/"+dir, set, trees, info)
	for _, s := range found {
		s.pkg = checked
	}
	return found, err
}

// changedSince returns the files that differ from those of a commit.
func changedSince(ctx context.Context, since string) ([]string, error) {
	if since == "" {
		return nil, nil
	}
	out, err := program.In{}.Output(ctx, "git", "diff", "--name-only", "--relative", since)
	return strings.Fields(out), err
}

// head returns the commit that is checked out.
func head(ctx context.Context) (string, error) {
	return program.In{}.Output(ctx, "git", "rev-parse", "HEAD")
}

// writeJSON writes a value to a file and creates its directory.
func writeJSON(file string, value any) error {
	data, err := json.MarshalIndent(value, "", " ")
	return errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644))
}
