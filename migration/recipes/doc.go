// Package recipes is what is known of systems that run as StatefulSets, as data: what to ask before a
// member is stopped and after it has come, in which order they go, by which names they must be known,
// and what must not be done. A recipe becomes a part of a Migration's spec when it is written; nothing
// of it is looked at afterwards.
//
// A recipe is one YAML document, decoded strictly. In its gates stand placeholders, {{name}}, for
// parameters: one that is a whole value gets the parameter's type, one within a text its words, and
// {{name:text}} is always a text. A parameter never becomes a part of a shell script: scripts take it from a variable.
package recipes
