mod artifact;
mod envsubst;
mod ignore;
