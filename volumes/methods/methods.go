// Package methods lists all ways to carry a volume, by their names, and performs their actions.
package methods

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
	"github.com/sliceshift/sliceshift/volumes/snapshot"
)

// methods lists the built-in methods. A caller of Register adds others.
var methods = map[api.VolumeMethod]volumes.Method{api.MethodRebind: volumes.Rebind{}, api.MethodEmpty: volumes.Empty{}, api.MethodCopy: copy.Copy{}, api.MethodSnapshot: snapshot.Snapshot{}}

// Register adds a method. It is called while a program starts. A name that is already taken is a programming
// error and panics.
func Register(name api.VolumeMethod, method volumes.Method) {
	if _, taken := methods[name]; taken || name == "" || method == nil {
		panic(fmt.Sprintf("volume method %q cannot be registered", name))
	}
	methods[name] = method
}

// Names returns the names of all methods, in order.
func Names() []api.VolumeMethod { return slices.Sorted(maps.Keys(methods)) }

// Of returns the method of that name, or Rebind, the API's default, for an empty name. For a name that this
// program does not know, it returns a method that carries nothing and reports that.
func Of(name api.VolumeMethod) volumes.Method {
	if name == "" {
		return volumes.Rebind{}
	}
	if method, known := methods[name]; known {
		return method
	}
	return unknown(name)
}

// unknown is the name of a method that this program does not know, perhaps of a newer version.
type unknown string

func (u unknown) problem() *volumes.Reason {
	known := make([]string, len(methods))
	for i, name := range Names() {
		known[i] = string(name)
	}
	return volumes.Stalled(
		volumes.ReasonUnknownMethod,
		fmt.Sprintf("this version has no volume method %q", string(u)),
		"use one of "+strings.Join(known, ", ")+" in spec.volumes, or a version that has it",
	)
}

func (unknown) Facts() volumes.Facts                             { return volumes.Facts{} }
func (unknown) Ahead(volumes.Pair, volumes.Goal) volumes.Verdict { return volumes.Verdict{} }
func (u unknown) Prepare(volumes.Pair) volumes.Verdict           { return u.blocked() }
func (u unknown) Transfer(volumes.Pair) volumes.Verdict          { return u.blocked() }
func (u unknown) Settle(volumes.Pair) volumes.Verdict            { return u.blocked() }
func (u unknown) blocked() volumes.Verdict                       { return volumes.Held(u.problem()) }

func (u unknown) Check(volumes.Pair, volumes.Moment) (*volumes.Reason, []volumes.Reason) {
	return u.problem(), nil
}
