mod artifact;
mod envsubst;
mod ignore;
mod substitute;
mod variables;
