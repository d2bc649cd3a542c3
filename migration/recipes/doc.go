// Package recipes holds knowledge about systems that run as StatefulSets, as data. A recipe has the checks
// before a member is stopped and after it has started, and the order of the members. It has the names by which
// members must be reachable, and a list of forbidden actions. It becomes a part of a Migration's spec when that
// is written, and is not used afterwards.
//
// A recipe is one YAML document, decoded strictly. Its gates and hooks contain placeholders, {{name}}, for
// parameters. A placeholder that is a whole value gets the parameter's type, one within a text is replaced by
// its text, and {{name:text}} is always a text. A parameter never becomes a part of a shell script: scripts
// read it from a variable.
package recipes
