// Package application looks into what a StatefulSet runs, as far as its template and its ConfigMaps say:
// for words that mean something else once its pods are in two places.
package application
